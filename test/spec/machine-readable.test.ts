import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ts from 'typescript';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { documentOf, openRpcDocument } from '../../gateway/spec/openrpc-document.ts';
import { portableSchema } from '../../schemas/portable-schema.ts';
import { readSources } from '../../schemas/read-sources.ts';
import { generateTypes, openRpcTools } from './openrpc-tools.ts';

const { MethodCallValidator, parseOpenRPCDocument, validateOpenRPCDocument } = openRpcTools;

/** Tools of others read the documents: Redocly's linter, and OpenRPC's own validator, call validator and code generator. */

it('the OpenAPI document of the admin API has no error and no warning of Redocly’s recommended rules', async () => {
  const source = readFileSync(join(packageRoot, 'schemas/generated/admin-api.json'), 'utf8');
  const config = await createConfig({ extends: ['recommended'] });
  const lint = async (text: string): Promise<string[]> => {
    const problems = await lintFromString({ source: text, absoluteRef: '/admin-api.json', config });
    return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
  };
  expect(await lint(source)).toEqual([]);
  expect(await lint(source.replace('"summary": "This document"', '"sumary": ""'))).not.toEqual([]);
});

const all = openRpcDocument().methods.map(({ name }) => name);
const network = { name: 'Five', methods: [...all, 'debug_traceCall'], wildcards: ['trace_*'] };

describe.each([
  ['of the spec', openRpcDocument()],
  ['of a network', documentOf({ ...network, baseUrls: ['https://five.example.org/'] })],
])('the OpenRPC document %s', (_, given) => {
  const copy = (): object => structuredClone(given);
  let parsed: object;

  beforeAll(async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    parsed = await parseOpenRPCDocument(copy());
  });

  it('is valid for the official meta-schema', () => {
    expect(validateOpenRPCDocument(copy())).toBe(true);
    expect(validateOpenRPCDocument({ ...copy(), methods: [{}] })).not.toBe(true);
  });

  it('lets a validator of calls check the parameters of each example', () => {
    const validator = new MethodCallValidator(parsed);
    let examples = 0;
    for (const { name, examples: ofMethod } of given.methods as unknown as ExampleSource[]) {
      for (const { params } of ofMethod ?? []) {
        examples++;
        expect([
          name,
          validator.validate(
            name,
            params.map(({ value }) => value),
          ),
        ]).toEqual([name, []]);
      }
    }
    expect(examples).toBeGreaterThan(80);
    expect(validator.validate('eth_getBalance', ['0x1', 'latest'])).not.toEqual([]);
  });

  it('lets a generator write TypeScript', () => {
    const text = generateTypes(parsed);
    expect(ts.transpileModule(text, { reportDiagnostics: true }).diagnostics).toEqual([]);
    expect(text.match(/^export type/gm)?.length).toBeGreaterThan(100);
  });
});

interface ExampleSource {
  readonly name: string;
  readonly examples?: readonly { readonly params: readonly { readonly value: unknown }[] }[];
}

describe('types without `if`, `then` and `else`', () => {
  const { types } = readSources(join(packageRoot, 'schemas'));
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema({ $id: 'source', components: { schemas: types } });
  ajv.addSchema({ $id: 'portable', components: { schemas: portableSchema(types, types) } });
  const [hash, address] = [`0x${'11'.repeat(32)}`, `0x${'11'.repeat(20)}`];
  const values: readonly unknown[] = [
    ...[null, true, false, 0, -1, 5, 1.5, '', '0x1', '12', 'latest', hash, address, 'x', [], {}],
    ...[[address], [hash], [null], [hash, null], [address, 'x'], [1], [[hash]]],
    ...[{ blockHash: hash }, { blockHash: null }, { blockNumber: '0x1' }, { blockHash: hash, blockNumber: '0x1' }],
    ...[{ fromBlock: '0x1' }, { fromBlock: '0x1', blockHash: hash }, { fromBlock: null, blockHash: hash }],
    ...[
      { fromBlock: '0x1', blockHash: null },
      { toBlock: 'latest', blockHash: hash },
      { address },
      { address: [address] },
    ],
    ...[{ address: hash }, { topics: [hash, [hash, null], null] }, { topics: [address] }, { requireCanonical: true }],
  ];
  const conditional = Object.keys(types).filter((name) => 'if' in (types[name] ?? {}));

  it('are the expected ones', () => {
    expect(conditional.length).toBeGreaterThan(4);
    expect(JSON.stringify(openRpcDocument())).not.toMatch(/"(?:if|then|else)":/);
  });

  it.each(conditional)('%s permits the same values', (name) => {
    const compile = (document: string) => ajv.compile({ $ref: `${document}#/components/schemas/${name}` });
    const [isValid, isValidPortable] = [compile('source'), compile('portable')];
    const valid = values.filter((value) => isValid(value));
    expect(values.filter((value) => isValidPortable(value))).toEqual(valid);
    expect(valid.length).toBeGreaterThan(0);
    expect(valid.length).toBeLessThan(values.length);
  });
});
