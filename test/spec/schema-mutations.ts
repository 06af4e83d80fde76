import type { OpenRpcDocument } from '../../schemas/documents.ts';
import { notNull, refTo, type JsonSchema } from '../../schemas/json-schema.ts';
import type { MethodSource, ParamSource } from '../../schemas/read-sources.ts';

/** A schema document with one alteration, and its description. */
export interface Mutation {
  readonly what: string;
  readonly document: OpenRpcDocument;
}

/** Alters every field, parameter and result of the document in each way that the tables cover. */
export function* mutations(document: OpenRpcDocument): Generator<Mutation> {
  for (const [type, schema] of Object.entries(document.components.schemas)) {
    for (const [what, changed] of mutatedObject(schema)) {
      yield { what: `${type}${what}`, document: withType(document, type, changed) };
    }
  }
  for (const [index, method] of document.methods.entries()) {
    yield { what: `${method.name} deleted`, document: { ...document, methods: document.methods.toSpliced(index, 1) } };
    for (const [what, changed] of mutatedMethod(method)) {
      const methods = document.methods.with(index, changed);
      yield { what: `${method.name}${what}`, document: { ...document, methods } };
    }
  }
}

/** The value types with their pattern altered, one at a time. */
export function* mutatedPatterns(document: OpenRpcDocument): Generator<Mutation> {
  for (const [type, schema] of Object.entries(document.components.schemas)) {
    for (const pattern of alteredPatterns(schema.pattern ?? '')) {
      yield { what: `${type}: ${pattern}`, document: withType(document, type, { ...schema, pattern }) };
    }
    if (schema['x-gatehouse']?.pad !== undefined) {
      yield { what: `${type} without padding`, document: withType(document, type, without(schema, 'x-gatehouse')) };
    }
  }
}

function* mutatedObject(schema: JsonSchema): Generator<[string, JsonSchema]> {
  const { properties, required = [], oneOf } = schema;
  if (properties === undefined || schema.type !== 'object') return;
  yield [' closed', { ...schema, additionalProperties: false }];
  yield [' with a field more', { ...schema, properties: { ...properties, surplus: { type: 'string' } } }];
  if (schema['x-gatehouse'] !== undefined) yield [' without missing', without(schema, 'x-gatehouse')];
  if (oneOf !== undefined) {
    yield [' without oneOf', without(schema, 'oneOf')];
    for (const index of oneOf.keys()) yield [` oneOf less ${index}`, { ...schema, oneOf: oneOf.toSpliced(index, 1) }];
  }
  for (const [name, property] of Object.entries(properties)) {
    if (typeof property === 'boolean') continue;
    yield [`.${name} deleted`, { ...schema, properties: without(properties, name) }];
    yield [`.${name} required or not`, { ...schema, required: toggled(required, name) }];
    for (const [what, changed] of mutatedValue(property)) {
      yield [`.${name} ${what}`, { ...schema, properties: { ...properties, [name]: changed } }];
    }
  }
}

function* mutatedMethod(method: MethodSource): Generator<[string, MethodSource]> {
  for (const [index, param] of method.params.entries()) {
    const name = `(${param.name})`;
    const put = (changed: ParamSource): MethodSource => ({ ...method, params: method.params.with(index, changed) });
    yield [`${name} deleted`, { ...method, params: method.params.toSpliced(index, 1) }];
    yield [`${name} renamed`, put({ ...param, name: 'surplus' })];
    yield [`${name} required or not`, put({ ...param, required: !param.required })];
    for (const [what, schema] of mutatedValue(param.schema)) yield [`${name} ${what}`, put({ ...param, schema })];
  }
  if (method.params.length > 1) yield [' params reversed', { ...method, params: method.params.toReversed() }];
  for (const [what, schema] of mutatedValue(method.result.schema)) {
    yield [` result ${what}`, { ...method, result: { ...method.result, schema } }];
  }
  const errors = toggled(
    method.errors.map(({ $ref }) => $ref),
    '#/components/errors/Reverted',
  );
  yield [' reverts or not', { ...method, errors: errors.map(($ref) => ({ $ref })) }];
}

/** Alterations of a schema: another type, null allowed or not, `x-gatehouse` removed. */
function* mutatedValue(schema: JsonSchema): Generator<[string, JsonSchema]> {
  const inner = notNull(schema);
  const other = { $ref: refTo((inner ?? schema).$ref === refTo('Quantity') ? 'Address' : 'Quantity') };
  const notes = schema['x-gatehouse'];
  yield [
    'of another type',
    { ...(inner === undefined ? other : orNull(other)), ...(notes && { 'x-gatehouse': notes }) },
  ];
  yield ['null or not', inner ?? orNull(schema)];
  if (schema.items !== undefined) {
    const element = schema.items.$ref === refTo('Log') ? 'Hash' : 'Log';
    yield ['of other elements', { ...schema, items: { $ref: refTo(element) } }];
  }
  // `varies` is for audits only; the specification does not have it.
  const compared = Object.keys(schema['x-gatehouse'] ?? {}).filter((name) => name !== 'varies');
  if (compared.length > 0) yield ['without notes', without(schema, 'x-gatehouse')];
}

function orNull(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: 'null' }] };
}

function alteredPatterns(pattern: string): string[] {
  const tags = [...pattern.matchAll(/\|([a-z]+)/g)].map(([tag]) => pattern.replace(tag, ''));
  const altered = [
    ...tags,
    pattern.replace(/(\d+)\}/, (_, to: string) => `${Number(to) - 1}}`),
    pattern.replace(/(\d+)\}/, (_, to: string) => `${Number(to) + 1}}`),
    pattern.replace('{1,', '{0,'),
    pattern.replace('{1,', '{2,'),
    pattern.replace('^', ''),
    pattern.replace('$', ''),
    pattern.replace('0x', ''),
    pattern.replace('A-F', ''),
    pattern.replace('a-f', ''),
    pattern.replace('a-f', 'a-z'),
    pattern.replace('[01]', '[0-9]'),
  ];
  return [...new Set(altered)].filter((candidate) => candidate !== pattern);
}

function withType(document: OpenRpcDocument, type: string, schema: JsonSchema): OpenRpcDocument {
  const { components } = document;
  return { ...document, components: { ...components, schemas: { ...components.schemas, [type]: schema } } };
}

function toggled(names: readonly string[], name: string): string[] {
  return names.includes(name) ? names.filter((each) => each !== name) : [...names, name];
}

function without<T extends object>(object: T, key: string): T {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key)) as T;
}
