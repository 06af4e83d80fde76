import type { OpenRpcDocument } from '../../schemas/documents.ts';
import { notNull, typeOfRef, type JsonSchema } from '../../schemas/json-schema.ts';

export interface ComparedRow {
  readonly is: string;
  readonly nullable?: boolean;
  readonly optional?: boolean;
  readonly alias?: string;
  readonly gasCap?: true;
  readonly reason?: string;
}

type Rows = Readonly<Record<string, ComparedRow>>;

export interface Encoding {
  readonly type: string;
  readonly bytes?: number | 'any';
  readonly digits?: readonly [number, number];
  readonly pad?: number;
  readonly fits?: readonly unknown[];
  readonly rejects?: readonly unknown[];
}

interface ObjectTable {
  readonly type: string;
  readonly fields?: Rows;
  readonly beyond?: Rows;
  readonly sameAs?: string;
  readonly without?: readonly string[];
  readonly exactlyOneOf?: readonly string[];
  readonly optionalIsNullable?: string;
  /** The treatment of a result without a required field. */
  readonly missing?: string;
}

interface MethodTable {
  readonly params: Rows;
  readonly beyond?: Rows;
  readonly result: ComparedRow;
  readonly reverts?: boolean;
}

/** The form of field-tables.yaml. */
export interface Tables {
  readonly encodings: Readonly<Record<string, Encoding>>;
  readonly objects: Readonly<Record<string, ObjectTable>>;
  readonly methods: Readonly<Record<string, MethodTable>>;
  readonly beyond: { readonly types: Readonly<Record<string, { readonly type: string; readonly reason: string }>> };
}

type Comparison = (tables: Tables, document: OpenRpcDocument) => string[];

/** The differences between the schemas and the tables, one sentence each. */
export const compareTables: Comparison = (tables, document) => [
  ...compareNames(tables, document),
  ...Object.keys(tables.objects).flatMap((name) => compareObject(name, tables, document)),
  ...Object.keys(tables.methods).flatMap((name) => compareMethod(name, tables, document)),
];

const compareNames: Comparison = (tables, document) => [
  ...missing(
    'type',
    words(tables).map(([, type]) => type),
    Object.keys(document.components.schemas),
  ),
  ...missing(
    'method',
    Object.keys(tables.methods),
    document.methods.map(({ name }) => name),
  ),
];

function compareObject(name: string, tables: Tables, document: OpenRpcDocument): string[] {
  const table = tables.objects[name];
  const schema = document.components.schemas[table?.type ?? ''];
  if (table === undefined || schema === undefined) return [`${name}: there is no such object`];
  const rows = rowsOf(table, tables);
  const properties = schema.properties ?? {};
  const fields = Object.entries(rows).flatMap(([field, row]) => {
    const property = properties[field];
    if (typeof property !== 'object') return [];
    const nullable = row.nullable === true || (row.optional === true && table.optionalIsNullable !== undefined);
    const expected = { ...row, nullable };
    return compareRow(`${name}.${field}`, expected, property, schema.required?.includes(field) === true, tables);
  });
  return [
    ...bothWays(`${name}: field`, Object.keys(rows), Object.keys(properties)),
    ...(schema.type === 'object' ? [] : [`${name}: is not an object`]),
    ...(schema.required ?? []).filter((field) => !(field in rows)).map((field) => `${name}.${field}: is required`),
    ...('additionalProperties' in schema ? [`${name}: is closed to fields that the specification does not name`] : []),
    ...same(`${name}: a missing field means`, table.missing, schema['x-gatehouse']?.missing),
    ...same(
      `${name}: exactly one of`,
      table.exactlyOneOf?.map((field) => [field]),
      schema.oneOf?.map((branch) => branch.required),
    ),
    ...fields,
  ];
}

function compareMethod(name: string, tables: Tables, document: OpenRpcDocument): string[] {
  const table = tables.methods[name];
  const method = document.methods.find((candidate) => candidate.name === name);
  if (table === undefined || method === undefined) return [`${name}: there is no such method`];
  const rows: Rows = { ...table.params, ...table.beyond };
  const codes = method.errors.map(({ $ref }) => document.components.errors[$ref.split('/').pop() ?? '']?.code);
  return [
    ...same(
      `${name}: parameters in order`,
      Object.keys(rows),
      method.params.map((param) => param.name),
    ),
    ...method.params.flatMap((param) => {
      const row = rows[param.name];
      return row === undefined ? [] : compareRow(`${name}(${param.name})`, row, param.schema, param.required, tables);
    }),
    ...compareRow(`${name}: result`, table.result, method.result.schema, true, tables),
    ...same(`${name}: reverts`, table.reverts === true, codes.includes(3)),
  ];
}

function compareRow(where: string, row: ComparedRow, schema: JsonSchema, required: boolean, tables: Tables): string[] {
  return [
    ...same(`${where}: type`, row.is, describe(notNull(schema) ?? schema, tables)),
    ...same(`${where}: may be null`, row.nullable === true, notNull(schema) !== undefined),
    ...same(`${where}: optional`, row.optional === true, !required),
    ...same(`${where}: alias`, row.alias, schema['x-gatehouse']?.alias),
    ...same(`${where}: gas cap`, row.gasCap, schema['x-gatehouse']?.gasCap),
  ];
}

/** The schema in the notation of the tables. */
function describe(schema: JsonSchema, tables: Tables): string {
  if (schema.$ref !== undefined) return wordFor(typeOfRef(schema.$ref), tables);
  if (schema.anyOf !== undefined) return schema.anyOf.map((branch) => describe(branch, tables)).join(' or ');
  if (schema.type === 'array')
    return schema.items === undefined ? 'array' : `array of ${describe(schema.items, tables)}`;
  return schema.type === undefined ? 'anything' : JSON.stringify(schema.type);
}

function wordFor(type: string, tables: Tables): string {
  return words(tables).find(([, candidate]) => candidate === type)?.[0] ?? type;
}

type Words = readonly (readonly [word: string, type: string])[];
const wordsOf = new WeakMap<Tables, Words>();

/** The tables' name of every type, and its name in the schemas. */
function words(tables: Tables): Words {
  let made = wordsOf.get(tables);
  if (made === undefined) {
    const { encodings, objects, beyond } = tables;
    const types: Readonly<Record<string, { readonly type: string }>> = { ...encodings, ...objects, ...beyond.types };
    made = Object.entries(types).map(([word, { type }]) => [word, type] as const);
    // Cached, because it is called for every field of thousands of altered documents.
    wordsOf.set(tables, made);
  }
  return made;
}

function rowsOf(table: ObjectTable, tables: Tables): Rows {
  const { fields, beyond } = tables.objects[table.sameAs ?? ''] ?? table;
  const rows = { ...fields, ...beyond, ...table.fields, ...table.beyond };
  return Object.fromEntries(Object.entries(rows).filter(([field]) => !table.without?.includes(field)));
}

function bothWays(what: string, inTables: readonly string[], inSchemas: readonly string[]): string[] {
  return [
    ...missing(what, inTables, inSchemas),
    ...inSchemas.filter((name) => !inTables.includes(name)).map((name) => `${what} ${name} is not in the tables`),
  ];
}

function missing(what: string, inTables: readonly string[], inSchemas: readonly string[]): string[] {
  return inTables
    .filter((name) => !inSchemas.includes(name))
    .map((name) => `${what} ${name} is missing in the schemas`);
}

function same(what: string, expected: unknown, found: unknown): string[] {
  const [left, right] = [JSON.stringify(expected), JSON.stringify(found)];
  return left === right ? [] : [`${what}: ${left} in the tables, ${right} in the schemas`];
}
