import { createRequire } from 'node:module';

/** OpenRPC's own tools. Their packages have sources in place of declarations, so what the tests use is declared here. */
interface Tools {
  /** @returns true, or an error */
  readonly validateOpenRPCDocument: (document: object) => true | Error;
  /** Validates a document, and replaces its references. */
  readonly parseOpenRPCDocument: (document: object) => Promise<object>;
  readonly MethodCallValidator: new (parsed: object) => {
    /** @returns problems; none: the parameters are valid */
    validate(method: string, params: readonly unknown[]): readonly Error[];
  };
}

interface Generator {
  readonly default: new (parsed: object) => { toString(language: 'typescript'): string };
}

const require = createRequire(import.meta.url);

export const openRpcTools = require('@open-rpc/schema-utils-js') as Tools;

/** The source text of TypeScript types for a parsed document. */
export function generateTypes(parsed: object): string {
  const { default: OpenRpcTypings } = require('@open-rpc/typings') as Generator;
  return new OpenRpcTypings(parsed).toString('typescript');
}
