import { editableFields } from '../gateway/auth/permissions/permission-fields.ts';

/** The parts of `admin-api.yaml` that are completed here. */
interface AdminApiSource {
  readonly components: { readonly schemas: { readonly Rules: object } };
}

/** The OpenAPI document of the admin API: the source, with a property of `Rules` for each permission and limit. */
export function adminDocument(adminApi: unknown): object {
  const source = adminApi as AdminApiSource;
  const properties = Object.fromEntries(
    editableFields.map(({ name, meaning }) => [
      name,
      { $ref: '#/components/schemas/Rule', description: meaning.replaceAll('`', '') },
    ]),
  );
  const { components } = source;
  const schemas = { ...components.schemas, Rules: { ...components.schemas.Rules, properties } };
  return { ...source, components: { ...components, schemas } };
}
