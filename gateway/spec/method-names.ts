import type { Settings } from '../config/settings.ts';
import { developmentMethods, methods } from './methods.generated.ts';

/** The names of all methods of the spec. */
export const methodNames: readonly string[] = methods.map(({ name }) => name);

/** What development networks serve beside the methods of their files; undefined in production. */
export function developmentMethodsIn({ NODE_ENV }: Pick<Settings, 'NODE_ENV'>): readonly string[] | undefined {
  return NODE_ENV === 'production' ? undefined : developmentMethods;
}
