'use strict';

/** A JSON Schema in few words, with links to the types that it names. @returns texts and elements */
function schemaWords(schema, schemas) {
  if (schema === true || schema === undefined) return ['anything'];
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    return [element('a', { href: `#type-${name}` }, schemas[name]?.title ?? name)];
  }
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined)
    return either.flatMap((one, at) => [...(at === 0 ? [] : [' or ']), ...schemaWords(one, schemas)]);
  if (schema.if !== undefined) return ['null or ', ...schemaWords(schema.else, schemas)];
  if (schema.type === 'array' && schema.items !== undefined)
    return ['array of ', ...schemaWords(schema.items, schemas)];
  if (schema.enum !== undefined) return [schema.enum.map((value) => JSON.stringify(value)).join(', ')];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  return [schema.title ?? [schema.type ?? 'anything'].flat().join(' or ')];
}

/** One type: its fields, or what its text looks like. */
function typeCard(name, schema, schemas) {
  const { title, description, properties, required = [], pattern } = schema;
  const rows = Object.entries(properties ?? {}).map(([field, one]) => [
    element('code', {}, field),
    element('span', {}, ...schemaWords(one, schemas)),
    required.includes(field) ? '' : 'optional',
    element('span', { class: 'quiet' }, one.description ?? ''),
  ]);
  return element(
    'article',
    { class: 'card', id: `type-${name}` },
    element('h3', {}, name),
    element('p', {}, title === undefined || title === name.toLowerCase() ? '' : `${title}. `, description ?? ''),
    properties === undefined
      ? element('p', {}, ...schemaWords({ ...schema, title: undefined }, schemas))
      : table(['Field', 'Type', '', ''], rows),
    pattern === undefined ? undefined : element('p', { class: 'quiet' }, 'matches ', element('code', {}, pattern)),
  );
}
