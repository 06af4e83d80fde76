import { namespaceOf } from '../gateway/network-files/options/method-pattern.ts';
import type {
  CacheRule,
  Identity,
  MethodGroup,
  MethodSpec,
  ObjectShape,
  ResultKind,
} from '../gateway/spec/method-spec.ts';
import { blockPlace } from './block-place.ts';
import { contractPlace } from './contract-place.ts';
import { countPlaces } from './count-places.ts';
import { gasPlaces } from './gas-places.ts';
import { notNull, partsOf, refTo, resolve, type JsonSchema, type Types } from './json-schema.ts';
import type { CacheSource, MethodSource, Sources } from './read-sources.ts';
import { objectInResult, objectAmong } from './result-object.ts';

/** The method table of the gateway, derived from the schemas. */
export function methodTable(sources: Sources): MethodSpec[] {
  return sources.methods.map((method) => methodSpec(method, sources));
}

/** The names of the methods with a role, by role. */
export function nodeMethods({ methods }: Sources): Record<string, string> {
  return Object.fromEntries(
    methods.flatMap(({ name, 'x-gatehouse': notes }) => (notes?.role === undefined ? [] : [[notes.role, name]])),
  );
}

function methodSpec(method: MethodSource, { frame, types }: Sources): MethodSpec {
  const {
    answer,
    role,
    send,
    group,
    executes,
    resultIs,
    tracks,
    identity,
    details,
    unsupported,
    units,
    cache,
    splits,
    defaultsToLatest,
    audit,
    provenAs,
    isAdvice,
  } = method['x-gatehouse'] ?? {};
  const result = notNull(method.result.schema) ?? method.result.schema;
  const { pattern, 'x-gatehouse': notes } = resolve(result, types);
  const object = objectInResult(method, types);
  const shape = object === undefined ? undefined : objectShape(object, types);
  const contractAt = contractPlace(method, types);
  const blockAt = blockPlace(method, types);
  const gasAt = gasPlaces(method, types);
  const counts = countPlaces(method);
  const storageParams = method.params.flatMap(({ schema }, index) =>
    schema.$ref === refTo('StoragePosition') || schema.$ref === refTo('StoragePositions') ? [index] : [],
  );
  const reverts = method.errors.some(({ $ref }) => frame.components.errors[lastPart($ref)]?.code === 3);
  const resultKinds = (result.anyOf ?? [result]).map((branch) => resultKind(resolve(branch, types), method.name));
  return {
    name: method.name,
    namespace: namespaceOf(method.name),
    group: group ?? groupOf(reverts, resultKinds),
    ...(answer !== undefined && { handledBy: answer }),
    nullable: notNull(method.result.schema) !== undefined,
    reverts,
    ...(reverts && role !== 'call' && { omitsPayload: true }),
    ...(send !== undefined && { sends: true }),
    ...(send === 'operation' && { sendsOperation: true }),
    ...(method.params.some(({ schema }) => schema.$ref === refTo('UserOperation')) && { hasErrorData: true as const }),
    ...(looksUpHash(method) && { looksUpHash: true }),
    ...(executes !== undefined && { executes }),
    ...(resultIs !== undefined && { resultIs }),
    ...(tracks !== undefined && { tracks: trackOf(tracks, method) }),
    ...(unsupported !== undefined && { nullWhenUnsupported: true }),
    resultKinds,
    ...(isMap(resolve(result, types)) && { resultIsMap: true as const }),
    ...(mayHaveText(method.result.schema, types) && { resultHasText: true as const }),
    ...(pattern !== undefined && { resultPattern: pattern }),
    ...(notes?.pad !== undefined && { padResult: notes.pad }),
    ...(isA('Quantity', result) && { resultIsQuantity: true as const }),
    ...(identity !== undefined && { identity: identities(identity, method, types) }),
    ...(details !== undefined && { details: detailsOf(details, method) }),
    ...(storageParams.length > 0 && { storageParams }),
    hashParams: method.params.flatMap((param, index) => (mayHoldHash(param.schema, types) ? [index] : [])),
    ...(gasAt.length > 0 && { gasAt }),
    ...(contractAt !== undefined && { contractAt }),
    ...(blockAt !== undefined && { blockAt }),
    ...(defaultsToLatest !== undefined && { defaultsToLatest: indexOfParam(method, defaultsToLatest) }),
    ...(splits !== undefined && { splits: indexOfParam(method, splits) }),
    ...(units !== undefined && { requestUnits: String(units) }),
    ...(counts.length > 0 && { counts }),
    ...(cache !== undefined && { cache: cacheRule(cache, method) }),
    ...(audit !== undefined && { isUnaudited: true as const }),
    ...(provenAs !== undefined && { provenAs }),
    ...(isAdvice !== undefined && { isAdvice }),
    ...(object !== undefined && { resultType: object }),
    // Objects without `missing` are forwarded unchanged.
    ...(shape !== undefined && types[shape.type]?.['x-gatehouse']?.missing !== undefined && { shape }),
  };
}

/** Whether a value may have a text without a pattern, or is an object of which the schema has no members. */
function mayHaveText(schema: JsonSchema, types: Types): boolean {
  const resolved = resolve(schema, types);
  const parts = partsOf(resolved);
  if (parts.length > 0) return parts.some((part) => mayHaveText(part, types));
  const { type, pattern, const: constant } = resolved;
  return (type === 'string' && pattern === undefined && constant === undefined) || type === 'object';
}

function groupOf(reverts: boolean, resultKinds: readonly ResultKind[]): MethodGroup {
  if (reverts) return 'execution';
  return resultKinds.includes('array') ? 'list' : 'lookup';
}

/** Whether the names of an object are data, as in `{ [address]: values }`. */
function isMap({ type, additionalProperties }: JsonSchema): boolean {
  return type === 'object' && typeof additionalProperties === 'object';
}

function resultKind({ type }: JsonSchema, method: string): ResultKind {
  if (type === 'integer') return 'number';
  if (type === 'object' || type === 'string' || type === 'array' || type === 'boolean') return type;
  throw new Error(`${method}: the gateway does not support results of the type ${JSON.stringify(type)}`);
}

function identities(fields: Readonly<Record<string, string>>, method: MethodSource, types: Types): Identity[] {
  const properties = types[objectInResult(method, types) ?? '']?.properties ?? {};
  return Object.entries(fields).map(([field, param]) => ({
    field,
    param: indexOfParam(method, param),
    kind: isA('Hash', properties[field]) ? 'hash' : 'quantity',
  }));
}

function detailsOf(
  details: Readonly<Record<string, string>>,
  method: MethodSource,
): NonNullable<MethodSpec['details']> {
  const [[field, param] = ['', '']] = Object.entries(details);
  return { field, param: indexOfParam(method, param) };
}

function trackOf(tracks: Readonly<Record<string, string>>, method: MethodSource): NonNullable<MethodSpec['tracks']> {
  const [[of, param] = ['', '']] = Object.entries(tracks);
  return { of: of === 'sender' ? 'sender' : 'transaction', param: indexOfParam(method, param) };
}

function cacheRule(cache: CacheSource, method: MethodSource): CacheRule {
  return typeof cache === 'string' ? cache : { param: indexOfParam(method, cache.at) };
}

function indexOfParam({ params }: MethodSource, name: string): number {
  return params.findIndex((param) => param.name === name);
}

function looksUpHash({ params: [first], result }: MethodSource): boolean {
  return notNull(result.schema) !== undefined && isA('Hash', first?.schema);
}

/** Whether the value may be a hash, or an object with a hash: the block parameter of EIP-1898, a log filter. */
function mayHoldHash(schema: JsonSchema, types: Types): boolean {
  const properties = Object.values(resolve(schema, types).properties ?? {});
  return isA('Hash', schema) || properties.some((property) => isA('Hash', property));
}

/** Whether the schema is this type, or "this type or null". */
export function isA(type: string, schema: JsonSchema | boolean | undefined): boolean {
  return typeof schema === 'object' && (notNull(schema) ?? schema).$ref === refTo(type);
}

function objectShape(type: string, types: Types): ObjectShape {
  const { required = [], properties = {}, 'x-gatehouse': notes } = types[type] ?? {};
  const fields = Object.entries(properties).filter((entry): entry is [string, JsonSchema] => isSchema(entry[1]));
  const namesOf = (value: string): string[] => fields.filter(([, field]) => isA(value, field)).map(([name]) => name);
  const rename: Record<string, string> = {};
  const nested: Record<string, ObjectShape> = {};
  for (const [name, property] of fields) {
    const alias = property['x-gatehouse']?.alias;
    // Also finds an array with alternatives: transactions, or hashes.
    const element = objectAmong(
      [property, ...(property.anyOf ?? [])].flatMap(({ items }) => items ?? []),
      types,
    );
    if (alias !== undefined) rename[name] = alias;
    if (element !== undefined) nested[name] = objectShape(element, types);
  }
  return {
    type,
    fill: notes?.missing === 'null' ? required : [],
    demand: notes?.missing === 'failure' ? required : [],
    quantities: namesOf('Quantity'),
    addresses: namesOf('Address'),
    rename,
    nested,
    orHashes: fields
      .filter(([, { anyOf = [] }]) => anyOf.some(({ items }) => isA('Hash', items)))
      .map(([name]) => name),
  };
}

function isSchema(property: JsonSchema | boolean): property is JsonSchema {
  return typeof property === 'object';
}

function lastPart(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}
