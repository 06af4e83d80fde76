import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** An operation of the document. */
export interface Operation {
  readonly id: string;
  readonly verb: (typeof verbs)[number];
  /** Path in the syntax of Express: `/admin/keys/:id`. */
  readonly path: string;
  /** The lowest role of a token that permits it. */
  readonly role: AdminRole;
  /** @throws AdminError  Undefined: the operation has no body. */
  readonly checkBody: ((body: unknown) => void) | undefined;
}

interface OperationObject {
  readonly operationId: string;
  readonly 'x-role': AdminRole;
  readonly requestBody?: { readonly required?: boolean };
}

const verbs = ['get', 'post', 'patch', 'delete'] as const;
/** Keywords of OpenAPI that JSON Schema does not have: Ajv gets the whole document. */
const openApiKeywords = ['openapi', 'info', 'servers', 'security', 'paths', 'components'];

/** Reads schemas/generated/admin-api.json, from which routes and body checks are derived. */
export function readAdminApi(): { text: string; operations: readonly Operation[] } {
  const text = readFileSync(join(packageRoot, 'schemas/generated/admin-api.json'), 'utf8');
  const document = JSON.parse(text) as {
    paths: Record<string, Partial<Record<(typeof verbs)[number], OperationObject>>>;
  };
  const ajv = strictAjv(true);
  ajv.addVocabulary(openApiKeywords);
  ajv.addSchema(document, 'admin');
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const operation = item[verb];
      if (operation === undefined) return [];
      const pointer = `paths/${path.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}/${verb}`;
      // Compiled at the first request, so that the start does not wait for all of them.
      let validate: ValidateFunction | undefined;
      const checkBody = (body: unknown): void => {
        validate ??= ajv.compile({ $ref: `admin#/${pointer}/requestBody/content/application~1json/schema` });
        if (!validate(body)) throw toAdminError(validate.errors?.[0]);
      };
      return [
        {
          id: operation.operationId,
          verb,
          path: path.replace(/\{(\w+)\}/g, ':$1'),
          role: roleOf(operation),
          checkBody: operation.requestBody === undefined ? undefined : checkBody,
        },
      ];
    }),
  );
  return { text, operations };
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
      suggest(path === '' && name === 'rules' ? 'permissions' : name, known) || `: expected ${known.join(', ')}`;
    return new AdminError(400, `${field} is not known${hint}`, { field });
  }
  const { title = 'something else' } = parentSchema as { title?: string };
  return path === ''
    ? new AdminError(400, `the body: expected ${title}`)
    : new AdminError(400, `${path}: expected ${title}`, { field: path });
}
