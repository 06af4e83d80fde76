import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { adminRoles, type AdminRole } from '../../config/admin-tokens.ts';
import { packageRoot } from '../../config/package.ts';
import { suggest } from '../../config/suggest.ts';
import { strictAjv } from '../../spec/strict-ajv.ts';

/** An error response of the admin API. Its message is shown to the caller. */
export class AdminError extends Error {
  readonly status: number;
  /** The invalid member of the body, such as `permissions.rate`. */
  readonly field: string | undefined;
  readonly retryAfterS: number | undefined;

  constructor(status: number, message: string, { field, retryAfterS }: { field?: string; retryAfterS?: number } = {}) {
    super(message);
    this.status = status;
    this.field = field;
    this.retryAfterS = retryAfterS;
  }
}

/** Rejection of a value. @param field of the query or body */
export function invalid(field: string, expected: string): AdminError {
  return new AdminError(400, `${field}: expected ${expected}`, { field });
}

/** An operation of the document. */
export interface Operation {
  readonly id: string;
  readonly verb: (typeof verbs)[number];
  /** Path in the syntax of Express: `/admin/keys/:id`. */
  readonly path: string;
  /** The lowest role of a token that permits it. */
  readonly role: AdminRole;
  /** Check that adds the defaults of the document to a body; undefined: the operation has no body. @throws AdminError */
  readonly checkBody: Check | undefined;
  /** The values of a query, with defaults. @throws AdminError */
  readonly readQuery: (query: Texts) => Readonly<Record<string, unknown>>;
}

type Check = (given: unknown) => void;
type Texts = Readonly<Record<string, unknown>>;

interface OperationObject {
  readonly operationId: string;
  readonly 'x-role': AdminRole;
  readonly requestBody?: { readonly required?: boolean };
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
}

interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly schema: { readonly type?: string; readonly title?: string };
}

const verbs = ['get', 'post', 'patch', 'delete'] as const;
/** Keywords of OpenAPI that JSON Schema does not have: Ajv gets the whole document. */
const openApiKeywords = ['openapi', 'info', 'servers', 'security', 'paths', 'components'];

/** Reads schemas/generated/admin-api.json, from which the routes and the checks of queries and bodies are derived. */
export function readAdminApi(): { text: string; operations: readonly Operation[] } {
  const text = readFileSync(join(packageRoot, 'schemas/generated/admin-api.json'), 'utf8');
  const document = JSON.parse(text) as {
    paths: Record<string, Partial<Record<(typeof verbs)[number], OperationObject>>>;
    components: { parameters: Record<string, Parameter> };
  };
  const ajv = strictAjv(true, true);
  ajv.addVocabulary(openApiKeywords);
  // `readTime` checks it.
  ajv.addFormat('date-time', true);
  ajv.addSchema(document, 'admin');
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const operation = item[verb];
      if (operation === undefined) return [];
      const pointer = `paths/${path.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}/${verb}`;
      const checkOf = (schema: object): Check => {
        // Compiled at the first request, so that the start does not wait for all of them.
        let validate: ValidateFunction | undefined;
        return (given) => {
          validate ??= ajv.compile(schema);
          if (!validate(given)) throw toAdminError(validate.errors?.[0]);
        };
      };
      const parameters = (operation.parameters ?? [])
        .map((one) => ('$ref' in one ? (document.components.parameters[basename(one.$ref)] as Parameter) : one))
        .filter((one) => one.in === 'query');
      return [
        {
          id: operation.operationId,
          verb,
          path: path.replace(/\{(\w+)\}/g, ':$1'),
          role: roleOf(operation),
          checkBody:
            operation.requestBody === undefined
              ? undefined
              : checkOf({ $ref: `admin#/${pointer}/requestBody/content/application~1json/schema` }),
          readQuery: queryReader(parameters, checkOf),
        },
      ];
    }),
  );
  return { text, operations };
}

/** Makes the reader of a query: texts of numbers and of true or false become these, and others fail the check. */
function queryReader(parameters: readonly Parameter[], checkOf: (schema: object) => Check) {
  const schemas = parameters.map(({ name, schema }) => [name, { title: 'one text', ...schema }] as const);
  const properties = Object.fromEntries(schemas);
  const check = checkOf({ type: 'object', additionalProperties: false, properties });
  return (query: Texts): Readonly<Record<string, unknown>> => {
    const values = Object.entries(query).map(([name, text]) => [name, valueIn(text, properties[name]?.type)]);
    const read = Object.fromEntries(values) as Record<string, unknown>;
    check(read);
    return read;
  };
}

function valueIn(text: unknown, type: string | undefined): unknown {
  if (typeof text !== 'string') return text;
  if (type === 'integer' && /^\d{1,10}$/.test(text)) return Number(text);
  return type === 'boolean' && /^(true|false)$/.test(text) ? text === 'true' : text;
}

/** An operation without a role must not become one for every token. */
function roleOf({ operationId, 'x-role': role }: OperationObject): AdminRole {
  if (!adminRoles.includes(role)) throw new Error(`schemas/admin-api.yaml: ${operationId} has no x-role`);
  return role;
}

function toAdminError(error: ErrorObject | undefined): AdminError {
  const { instancePath = '', keyword, params = {}, parentSchema = {} } = error ?? {};
  const path = instancePath.slice(1).replaceAll('/', '.');
  const memberPath = (name: unknown): string => (path === '' ? String(name) : `${path}.${String(name)}`).slice(0, 100);
  if (keyword === 'required') {
    const field = memberPath(params['missingProperty']);
    return new AdminError(400, `${field} is missing`, { field });
  }
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']);
    const known = Object.keys((parentSchema as { properties?: object }).properties ?? {});
    const field = memberPath(name);
    // `rules` is the former name.
    const hint =
      suggest(path === '' && name === 'rules' ? 'permissions' : name, known) ||
      `: expected ${known.join(', ') || 'no parameters'}`;
    return new AdminError(400, `${field} is not known${hint}`, { field });
  }
  const { title = 'something else' } = parentSchema as { title?: string };
  return path === ''
    ? new AdminError(400, `the body: expected ${title}`)
    : new AdminError(400, `${path}: expected ${title}`, { field: path });
}
