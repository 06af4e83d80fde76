import { methods } from './methods.generated.ts';

/** The names of all methods of the spec. */
export const methodNames: readonly string[] = methods.map(({ name }) => name);
