'use strict';

/** Summarises a JSON Schema, with links to its types. @returns texts and elements */
function schemaSummary(schema, schemas) {
  if (schema === true || schema === undefined) return ['anything'];
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    return [element('a', { href: `#type-${name}` }, schemas[name]?.title ?? name)];
  }
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined)
    return either.flatMap((one, index) => [...(index === 0 ? [] : [' or ']), ...schemaSummary(one, schemas)]);
  if (schema.if !== undefined) return ['null or ', ...schemaSummary(schema.else, schemas)];
  if (schema.type === 'array' && schema.items !== undefined)
    return ['array of ', ...schemaSummary(schema.items, schemas)];
  if (schema.enum !== undefined) return [schema.enum.map((value) => JSON.stringify(value)).join(', ')];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  return [schema.title ?? [schema.type ?? 'anything'].flat().join(' or ')];
}

/** Describes one type: its fields or its pattern. */
function typeCard(name, schema, schemas) {
  const { title, description, properties, required = [], pattern } = schema;
  const rows = Object.entries(properties ?? {}).map(([field, one]) => [
    element('code', {}, field),
    element('span', {}, ...schemaSummary(one, schemas)),
    required.includes(field) ? '' : 'optional',
    element('span', { class: 'quiet' }, one.description ?? ''),
  ]);
  return element(
    'article',
    { class: 'card', id: `type-${name}` },
    element('h3', {}, name),
    element('p', {}, permalink(`type-${name}`)),
    element('p', {}, title === undefined || title === name.toLowerCase() ? '' : `${title}. `, description ?? ''),
    properties === undefined
      ? element('p', {}, ...schemaSummary({ ...schema, title: undefined }, schemas))
      : table(['Field', 'Type', '', ''], rows),
    pattern === undefined ? undefined : element('p', { class: 'quiet' }, 'matches ', element('code', {}, pattern)),
  );
}
