import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { methods as table } from '../../gateway/spec/methods.generated.ts';
import { strictAjv } from '../../gateway/spec/strict-ajv.ts';
import { artefacts } from '../../schemas/artefacts.ts';
import type { OpenRpcDocument, ParamsSchema } from '../../schemas/documents.ts';
import { findProblems } from '../../schemas/find-problems.ts';
import type { JsonSchema } from '../../schemas/json-schema.ts';
import { readSources } from '../../schemas/read-sources.ts';

const sources = readSources(join(packageRoot, 'schemas'));
const generated = artefacts(sources);
const document = read('schemas/generated/openrpc.json') as OpenRpcDocument;
const params = read('schemas/generated/params.json') as Record<string, ParamsSchema>;
const results = read('schemas/generated/results.json') as Record<string, JsonSchema>;
const ajv = strictAjv();

function read(path: string): unknown {
  return JSON.parse(readFileSync(join(packageRoot, path), 'utf8'));
}

function refsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => (key === '$ref' ? [String(part)] : refsIn(part)));
}

/** The target of a reference such as `#/components/schemas/Hash`. */
function at(ref: string): unknown {
  const steps = ref.slice('#/'.length).split('/');
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], document);
}

describe('the sources', () => {
  test('have no errors', () => {
    expect(findProblems(sources)).toEqual([]);
  });

  test('give the same bytes every time', () => {
    expect([...artefacts(readSources(join(packageRoot, 'schemas')))]).toEqual([...generated]);
  });
});

describe('the generated files', () => {
  test.each([...generated])('%s is fresh', (path, text) => {
    expect(readFileSync(join(packageRoot, path), 'utf8') === text, 'run `npm run generate`').toBe(true);
  });

  test('have the same methods', () => {
    const names = table.map(({ name }) => name);
    expect(document.methods.map(({ name }) => name)).toEqual(names);
    expect(Object.keys(params)).toEqual(names);
    expect(Object.keys(results)).toEqual(names);
  });

  test('need no other file to validate parameters and results', () => {
    expect([...refsIn(params), ...refsIn(results)]).toEqual([]);
  });
});

describe('the OpenRPC document', () => {
  test('has the version of OpenRPC, and its own title, version and licence', () => {
    expect(document.openrpc).toMatch(/^1\.3\.\d+$/);
    expect(document.info).toMatchObject({ title: 'Gatehouse', version: '3.0.0', license: { name: 'MIT' } });
  });

  test('has no reference without a target', () => {
    const refs = [...new Set(refsIn(document))];
    expect(refs.length).toBeGreaterThan(20);
    expect(refs.filter((ref) => at(ref) === undefined)).toEqual([]);
  });

  test('has no keys unknown to OpenRPC', () => {
    const allowed = {
      document: ['openrpc', 'info', 'servers', 'methods', 'components'],
      method: 'name summary description paramStructure params result errors examples x-gatehouse'.split(' '),
      descriptor: ['name', 'summary', 'description', 'required', 'schema'],
    };
    const descriptors = document.methods.flatMap((method) => [...method.params, method.result]);
    const keysOf = (objects: readonly object[]): string[] => [...new Set(objects.flatMap((each) => Object.keys(each)))];
    expect(allowed.document).toEqual(expect.arrayContaining(keysOf([document])));
    expect(allowed.method).toEqual(expect.arrayContaining(keysOf(document.methods)));
    expect(allowed.descriptor).toEqual(expect.arrayContaining(keysOf(descriptors)));
  });

  test('is written in draft 7 of JSON Schema, as OpenRPC requires', () => {
    const draft7 = new Ajv({ strict: false });
    const invalid = Object.entries(document.components.schemas).filter(([, schema]) => !draft7.validateSchema(schema));
    expect(invalid.map(([name]) => name)).toEqual([]);
  });

  test('gives every type a title of its own', () => {
    const titles = Object.values(document.components.schemas).map(({ title }) => title);
    expect(titles).not.toContain(undefined);
    expect(new Set(titles).size).toBe(titles.length);
  });
});

describe.each(document.methods.map((method) => [method.name, method] as const))('%s', (name, method) => {
  test('has a summary, an error and an example', () => {
    expect(method.summary.length).toBeGreaterThan(10);
    expect(method.errors.length).toBeGreaterThan(0);
    expect(method.examples.length).toBeGreaterThan(0);
    expect(method.paramStructure).toBe('by-position');
  });

  test('has examples that are valid by its own schemas', () => {
    for (const example of method.examples) {
      const values = example.params.map(({ value }) => value);
      expect(ajv.compile(params[name] ?? false)(values)).toBe(true);
      expect(ajv.compile(results[name] ?? false)(example.result.value)).toBe(true);
    }
  });
});
