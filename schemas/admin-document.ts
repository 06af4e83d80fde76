import { editableFields } from '../gateway/auth/permissions/permission-fields.ts';

/** The parts of `admin-api.yaml` that are completed here. */
interface AdminApiSource {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationSource | readonly object[]>>>>;
  readonly components: { readonly schemas: { readonly Permissions: object } };
}

interface OperationSource {
  readonly responses: Readonly<Record<string, object>>;
}

/** Rejections of any operation: no valid token, a role that is too low, too many wrong tokens. */
const rejections = Object.fromEntries(
  ['401', '403', '429'].map((status) => [status, { $ref: '#/components/responses/Refused' }]),
);

/**
 * The OpenAPI document of the admin API: the source, with a property of `Permissions` for each permission and limit, and with the
 * rejections that all operations share.
 */
export function adminDocument(adminApi: unknown): object {
  const source = adminApi as AdminApiSource;
  const properties = Object.fromEntries(
    editableFields.map(({ name, meaning }) => [
      name,
      { $ref: '#/components/schemas/Permission', description: meaning.replaceAll('`', '') },
    ]),
  );
  const { components } = source;
  const schemas = { ...components.schemas, Permissions: { ...components.schemas.Permissions, properties } };
  const paths = mapMembers(source.paths, (path) =>
    mapMembers(path, (part) =>
      'responses' in part ? { ...part, responses: { ...part.responses, ...rejections } } : part,
    ),
  );
  return { ...source, paths, components: { ...components, schemas } };
}

function mapMembers<Value>(
  map: Readonly<Record<string, Value>>,
  to: (value: Value) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, to(value)]));
}
