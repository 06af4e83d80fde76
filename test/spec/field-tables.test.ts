import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { strictAjv } from '../../gateway/spec/strict-ajv.ts';
import { openRpcDocument, resultSchemas, type OpenRpcDocument } from '../../schemas/documents.ts';
import { readSources } from '../../schemas/read-sources.ts';
import { compareEncodings } from './compare-encodings.ts';
import { compareTables, type Tables } from './compare-tables.ts';
import { mutatedPatterns, mutations } from './schema-mutations.ts';

const tables = parse(readFileSync(join(import.meta.dirname, 'field-tables.yaml'), 'utf8')) as Tables;
const sources = readSources(join(packageRoot, 'schemas'));
/** Document with the types as they are written, not as other tools read them. */
const generated = openRpcDocument(sources);
const document = specifiedPart({ ...generated, components: { ...generated.components, schemas: sources.types } });

/** The methods and types of the tables. For others, the evidence is calls: test/e2e/core-methods.test.ts. */
function specifiedPart({ methods, components, ...frame }: OpenRpcDocument): OpenRpcDocument {
  const named: Readonly<Record<string, { readonly type: string }>> = {
    ...tables.encodings,
    ...tables.objects,
    ...tables.beyond.types,
  };
  const types = new Set(Object.values(named).map(({ type }) => type));
  const schemas = Object.entries(components.schemas).filter(([name]) => types.has(name));
  return {
    ...frame,
    methods: methods.filter(({ name }) => name in tables.methods),
    components: { ...components, schemas: Object.fromEntries(schemas) },
  };
}

describe('the schemas and the specification', () => {
  test('agree on every object, field, type, null and optional field', () => {
    expect(compareTables(tables, document)).toEqual([]);
  });

  test('agree on the encoding of values', () => {
    expect(compareEncodings(tables, document.components.schemas)).toEqual([]);
  });

  test('have the same seven methods', () => {
    expect(document.methods.map(({ name }) => name).toSorted()).toEqual(Object.keys(tables.methods).toSorted());
    expect(document.methods).toHaveLength(7);
  });
});

describe('these comparisons', () => {
  test('detect every altered field, type, null, required or parameter of a schema', () => {
    const all = [...mutations(document)];
    const unnoticed = all.filter((mutation) => compareTables(tables, mutation.document).length === 0);
    expect(unnoticed.map(({ what }) => what)).toEqual([]);
    // At least 4 for each of about 100 fields: fewer would mean that the mutations no longer reach the fields.
    expect(all.length).toBeGreaterThan(400);
  });

  test('detect every altered pattern, digit count, tag and padding', () => {
    const all = [...mutatedPatterns(document)];
    const unnoticed = all.filter(
      ({ document: { components } }) => compareEncodings(tables, components.schemas).length === 0,
    );
    expect(unnoticed.map(({ what }) => what)).toEqual([]);
    expect(all.length).toBeGreaterThan(60);
  });
});

describe('a receipt', () => {
  const fits = strictAjv().compile(resultSchemas(sources).eth_getTransactionReceipt ?? false);
  const example = sources.methods.find(({ name }) => name === 'eth_getTransactionReceipt')?.examples[0]?.result.value;
  const { status, ...bare } = example as Record<string, unknown>;
  const root = `0x${'5'.repeat(64)}`;

  test('has a status or a root', () => {
    expect(fits({ ...bare, status })).toBe(true);
    expect(fits({ ...bare, root })).toBe(true);
  });

  test('does not have both or neither', () => {
    expect(fits({ ...bare, status, root })).toBe(false);
    expect(fits(bare)).toBe(false);
  });

  test('may be null, as the receipt of a pending transaction is', () => {
    expect(fits(null)).toBe(true);
  });
});
