import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { compileMemberCheck, type MemberSchema } from '../../gateway/spec/check-members.ts';
import { compileParamChecks } from '../../gateway/spec/check-params.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { anotherCase } from '../support/member-spellings.ts';
import { propertyRuns } from '../support/property-runs.ts';

const checks = compileParamChecks();
const a = `0x${'aa'.repeat(20)}`;
const hash = `0x${'4d'.repeat(32)}`;

/** The error message for these parameters. */
function check(method: string, text: string): string | undefined {
  const params = JSON.parse(text) as unknown[];
  const found = checks.get(method)?.(params, text);
  // Without duplicates, the values show the same as the text.
  if (JSON.stringify(params) === text) expect(checks.get(method)?.(params)).toBe(found);
  return found;
}

const spelling = 'expected exactly this spelling';
const once = 'expected only once';

describe('a known member that is duplicated or in another case is rejected', () => {
  const rejected: [method: string, params: string, sentence: string][] = [
    ['eth_call', `[{"to":"${a}","To":"${a}"}]`, `transaction.to: ${spelling}`],
    ['eth_call', `[{"To":"${a}"}, "latest"]`, `transaction.to: ${spelling}`],
    ['eth_call', `[{"to":"${a}","to":"${a}"}]`, `transaction.to: ${once}`],
    ['eth_call', `[{"to":"${a}","\\u0074o":"${a}"}]`, `transaction.to: ${once}`],
    ['eth_call', `[{"\\u0054O":"${a}"}]`, `transaction.to: ${spelling}`],
    ['eth_call', `[ { "gas" : "0x1" , "ga\u017f" : "0x2" } ]`, `transaction.gas: ${spelling}`],
    ['eth_estimateGas', `[{"ga\\u017f":"0x2"}]`, `transaction.gas: ${spelling}`],
    ['eth_estimateGas', `[{"Data":"0x","input":"0x"}]`, `transaction.data: ${spelling}`],
    [
      'eth_estimateGas',
      `[{"to":"${a}"},"latest",{},{"gasLimit":"0x1","GasLimit":"0x2"}]`,
      `blockOverride.gasLimit: ${spelling}`,
    ],
    ['eth_createAccessList', `[{"to":"${a}","GAS":"0x2"}]`, `transaction.gas: ${spelling}`],
    ['zks_estimateFee', `[{"From":"${a}","to":"${a}"}]`, `transaction.from: ${spelling}`],
    ['eth_getLogs', `[{"address":"${a}","addre\u017fs":"${a}"}]`, `filter.address: ${spelling}`],
    ['eth_getLogs', `[{"address":["${a}"],"address":null}]`, `filter.address: ${once}`],
    ['eth_getLogs', `[{"bloc\u212aHash":"${hash}"}]`, `filter.blockHash: ${spelling}`],
    ['eth_newFilter', `[{"Topics":[]}]`, `filter.topics: ${spelling}`],
    ['eth_subscribe', `["logs",{"Address":"${a}"}]`, `filter.address: ${spelling}`],
    ['eth_getBalance', `["${a}",{"blockNumber":"0x1","BlockNumber":"0x2"}]`, `block.blockNumber: ${spelling}`],
    ['eth_getStorageAt', `["${a}","0x0",{"blockHash":"${hash}","blockHash":"${hash}"}]`, `block.blockHash: ${once}`],
    [
      'eth_call',
      `[{},{"blockHash":"${hash}","requireCanonical":true,"requirecanonical":false}]`,
      `block.requireCanonical: ${spelling}`,
    ],
    ['eth_simulateV1', `[{"blockStateCalls":[],"BlockStateCalls":[]}]`, `simulation.blockStateCalls: ${spelling}`],
    [
      'eth_simulateV1',
      `[{"blockStateCalls":[{},{"calls":[],"Calls":[]}]}]`,
      `simulation.blockStateCalls[1].calls: ${spelling}`,
    ],
    [
      'eth_simulateV1',
      `[{"blockStateCalls":[{"calls":[{},{"gas":"0x1","gas":"0x2"}]}]}]`,
      `simulation.blockStateCalls[0].calls[1].gas: ${once}`,
    ],
    [
      'eth_simulateV1',
      `[{"blockStateCalls":[{"blockOverrides":{"gaslimit":"0x1"}}]}]`,
      `simulation.blockStateCalls[0].blockOverrides.gasLimit: ${spelling}`,
    ],
  ];
  test.each(rejected)('%s %s', (method, params, sentence) => {
    expect(check(method, params)).toBe(`invalid params: ${sentence}`);
  });
});

describe('other members pass', () => {
  const passing: [method: string, params: string][] = [
    ['eth_call', `[{"to":"${a}","chainID":"0x1"},"latest"]`],
    [
      'eth_call',
      `[{"to":"${a}","chainId":"0x1","chainID":"0x1","nonce":"0x1","Nonce":"0x1","custom":{"to":1,"To":2}}]`,
    ],
    ['eth_call', `[{"to":"${a}","accessList":[{"address":"${a}","Address":"${a}"}]}]`],
    ['eth_call', `[{"to":"${a}","tos":1,"t":2,"":3,"toto":4,"t\\u00f6":5,"g\u00e0s":6,"__proto__":{"to":7}}]`],
    // Addresses and slots may have either case.
    [
      'eth_call',
      `[{"to":"${a}"},"latest",{"${a}":{"balance":"0x1"},"${a.toUpperCase()}":{"Balance":"0x1","balance":"0x2"}}]`,
    ],
    ['eth_call', `[{"to":"${a}"},"latest",{"${a}":{"state":{"0x0a":"0x1","0x0A":"0x1"}},"${a}":{"code":"0x"}}]`],
    ['eth_simulateV1', `[{"blockStateCalls":[{"stateOverrides":{"${a}":{"code":"0x","Code":"0x"},"${a}":{}}}]}]`],
    ['eth_getLogs', `[{"address":"${a}","topics":[["${hash}"],null],"limit":1,"Limit":2}]`],
    ['eth_getBalance', `["${a}","latest"]`],
    ['eth_chainId', '[]'],
  ];
  test.each(passing)('%s %s', (method, params) => {
    expect(check(method, params)).toBeUndefined();
  });
});

const schemas = JSON.parse(readFileSync(join(packageRoot, 'schemas/generated/params.json'), 'utf8')) as Record<
  string,
  { readonly prefixItems?: readonly MemberSchema[] }
>;

/** The objects in a method's parameters whose schema has members: the text before each, its names, and the text after it. */
function objectsOf(schema: MemberSchema, before: string, behind: string): [string, string[], string][] {
  const branches = [schema.if, schema.then, schema.else, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  const own = Object.entries(schema.properties ?? {});
  return [
    ...(own.length > 0 ? [[before, own.map(([name]) => name), behind] as [string, string[], string]] : []),
    ...own.flatMap(([name, property]) =>
      typeof property === 'boolean' ? [] : objectsOf(property, `${before}{"${name}":`, `}${behind}`),
    ),
    ...(schema.items === undefined ? [] : objectsOf(schema.items, `${before}[null,`, `]${behind}`)),
    ...branches.flatMap((branch) => (branch === undefined ? [] : objectsOf(branch, before, behind))),
  ];
}

/** The objects of all methods. */
const places = methods.flatMap(({ name }) =>
  (schemas[name]?.prefixItems ?? []).flatMap((schema, index) =>
    objectsOf(schema, `[${'null,'.repeat(index)}`, ']').map((place) => [name, ...place] as const),
  ),
);

test('every method with an object parameter is tested', () => {
  const readers = methods.filter(({ contractAt, gasAt }) => contractAt?.field !== undefined || gasAt !== undefined);
  const tried = new Set(places.map(([name]) => name));
  expect(readers.filter(({ name }) => !tried.has(name))).toEqual([]);
  expect(readers.length).toBeGreaterThan(5);
});

test('every method rejects a known member that is duplicated or in another case', () => {
  const other = fc.constantFrom('"x":1,', '"to\\"":{"a":"}"},', ' "y" : [ "\\\\" ] , ', '');
  const value = fc.constantFrom('1', '"0x1"', 'null', '{"a":[1]}', '"\\"}"', '[{}]');
  const flips = fc.array(fc.boolean(), { minLength: 60, maxLength: 60 });
  const numRuns = propertyRuns(10);
  for (const [method, before, names, behind] of places) {
    for (const known of names) {
      const property = fc.property(flips, other, value, (flipped, between, json) => {
        for (const isRepeated of [true, false]) {
          const variant = isRepeated ? JSON.stringify(known) : anotherCase(known, flipped);
          const text = `${before}{"${known}":${json},${between}${variant}:${json}}${behind}`;
          expect(check(method, text)).toMatch(
            new RegExp(`^invalid params: [^ ]*\\.${known}: ${isRepeated ? once : spelling}$`),
          );
          const alone = `${before}{${between}${variant}:${json}}${behind}`;
          if (!isRepeated) expect(check(method, alone)).toContain(`.${known}: ${spelling}`);
        }
      });
      fc.assert(property, { numRuns });
    }
  }
});

test('the check depends on the schemas only, for any text', () => {
  const schema: MemberSchema = { properties: { to: { items: { properties: { gas: true } } } } };
  const checkMembers = compileMemberCheck([schema]);
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (json) => {
      // JSON.stringify duplicates no name, and a random name is hardly a variant of these two.
      expect(checkMembers([], `[${json},${json}]`)).toBeUndefined();
      const value = JSON.parse(json) as unknown;
      expect(checkMembers([value, value], undefined)).toBeUndefined();
      expect(checkMembers([{ x: value, to: [value, { Gas: value }] }], undefined)).toMatchObject({
        member: 'gas',
        isVariant: true,
        path: [0, 'to', 1],
      });
      expect(
        checkMembers([], `[ { "x" : ${json} , "to" : [ ${json} , { "gas" : 1 , "gas" : ${json} } ] } ]`),
      ).toMatchObject({
        member: 'gas',
        isVariant: false,
        path: [0, 'to', 1],
      });
    }),
  );
});
