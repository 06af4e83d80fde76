import { methods } from './methods.generated.ts';

/** Of all methods of the spec. */
export const methodNames: readonly string[] = methods.map(({ name }) => name);
