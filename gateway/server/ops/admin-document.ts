import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorObject } from 'ajv/dist/2020.js';
import { packageRoot } from '../../config/package.ts';
import { suggest } from '../../config/suggest.ts';
import { strictAjv } from '../../spec/strict-ajv.ts';

/** One that the admin API gives of its own accord. The message is for the caller's eyes. */
export class AdminError extends Error {
  readonly status: number;
  /** What of the body is wrong, such as `rules.rate`. */
  readonly field: string | undefined;

  constructor(status: number, message: string, field?: string) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

/** What the document says can be done. */
export interface Operation {
  readonly id: string;
  readonly verb: 'get' | 'post' | 'patch';
  /** As Express has it: `/admin/keys/:id`. */
  readonly path: string;
  /** @throws AdminRefusal; without a check, nothing is read of the body */
  readonly checkBody: ((body: unknown) => void) | undefined;
}

interface Described {
  readonly operationId: string;
  readonly requestBody?: { readonly required?: boolean };
}

const verbs = ['get', 'post', 'patch'] as const;
/** Of OpenAPI, not of JSON Schema: the document is handed to Ajv as it stands. */
const frameWords = ['openapi', 'info', 'security', 'paths', 'components'];

/** Reads schemas/generated/admin-api.json: what is served, what is routed and what is checked are one. */
export function readAdminDocument(): { text: string; operations: readonly Operation[] } {
  const text = readFileSync(join(packageRoot, 'schemas/generated/admin-api.json'), 'utf8');
  const document = JSON.parse(text) as {
    paths: Record<string, Partial<Record<(typeof verbs)[number], Described>>>;
  };
  const ajv = strictAjv();
  ajv.addVocabulary(frameWords);
  ajv.addSchema(document, 'admin');
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const described = item[verb];
      if (described === undefined) return [];
      const place = `paths/${path.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}/${verb}`;
      const fits =
        described.requestBody === undefined
          ? undefined
          : ajv.compile({ $ref: `admin#/${place}/requestBody/content/application~1json/schema` });
      const checkBody = (body: unknown): void => {
        if (fits?.(body) === false) throw rejectionFor(fits.errors?.[0]);
      };
      return [
        {
          id: described.operationId,
          verb,
          path: path.replace(/\{(\w+)\}/g, ':$1'),
          checkBody: fits === undefined ? undefined : checkBody,
        },
      ];
    }),
  );
  return { text, operations };
}

function rejectionFor(error: ErrorObject | undefined): AdminError {
  const { instancePath = '', keyword, params = {}, parentSchema = {} } = error ?? {};
  const at = instancePath.slice(1).replaceAll('/', '.');
  const inner = (name: unknown): string => (at === '' ? String(name) : `${at}.${String(name)}`).slice(0, 100);
  if (keyword === 'required') {
    const field = inner(params['missingProperty']);
    return new AdminError(400, `${field} is missing`, field);
  }
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']);
    const known = Object.keys((parentSchema as { properties?: object }).properties ?? {});
    return new AdminError(400, `${inner(name)} is not known${suggest(name, known)}`, inner(name));
  }
  const { title = 'something else' } = parentSchema as { title?: string };
  return new AdminError(400, `${at === '' ? 'the body' : at}: expected ${title}`, at === '' ? undefined : at);
}
