import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readUnits } from '../../gateway/network-files/read-units.ts';
import { NetworkFilesError } from '../../gateway/network-files/load-networks.ts';
import { readNetwork } from '../../gateway/network-files/read-network.ts';
import { methodFacts } from '../../gateway/spec/method-facts.ts';
import { countsOf } from '../../gateway/spec/request-units.ts';
import { configOf, good, knownMethods } from './load.ts';

function diagnosticsOf(units: readonly string[]): string[] {
  const yaml = [...good, 'methods: [eth, debug_traceCall]', 'units:', ...units.map((line) => `  ${line}`)].join('\n');
  const { diagnostics } = readNetwork('base', yaml, { folder: '.', knownMethods, countsOf, env: {} });
  return diagnostics.map(({ line, message }) => `${line}: ${message}`);
}

const expectation = 'expected number from 0.001, or formula such as `min(2 + blocks / 100, 100)`';

it('request units of a network may be numbers and formulas, for methods and starts of methods', () => {
  expect(
    diagnosticsOf(['eth_getLogs: 2 + blocks / 1000', 'eth_call: 0.5', 'debug_*: 30', "eth_getProof: 'storageKeys'"]),
  ).toEqual([]);
  const units = { eth_call: 2.5, 'eth_get*': '1 + overrides' };
  expect(configOf('base', { units }).units).toEqual(units);
});

it.each([
  ['eth_cal: 2', '8: units.eth_cal is no method of the network; did you mean eth_call?'],
  ['net_version: 2', '8: units.net_version is no method of the network'],
  ['eth_call: 0', `8: units.eth_call: ${expectation}`],
  ['debug_*: 0', `8: units.debug_*: ${expectation}`],
  ['eth_call: blocks - 1', `8: units.eth_call: ${expectation}`],
  ['eth_call: [1]', `8: units.eth_call: ${expectation}, not a list`],
  ['eth_call: 1 + blocks', '8: units.eth_call: a method has no blocks'],
  ['debug_traceCall: 1 + blocks', '8: units.debug_traceCall: a method has no blocks'],
])('%s is rejected', (line, diagnostic) => {
  expect(diagnosticsOf([line])).toEqual([diagnostic]);
});

function unitsIn(text: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-units-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const file = join(folder, 'units.yaml');
  writeFileSync(file, text);
  try {
    return readUnits(file, [configOf('base', { methods: ['eth', 'bor_*'] })], methodFacts);
  } catch (error) {
    if (!(error instanceof NetworkFilesError)) throw error;
    return error.message.replaceAll(`${folder}/`, '');
  }
}

it('the file of UNITS_FILE has request units by method', () => {
  expect(readUnits(undefined, [], methodFacts)).toEqual({});
  expect(unitsIn('eth_call: 3\ndebug_traceCall: 30\nbor_getAuthor: 2\n')).toEqual({
    ...{ eth_call: 3, debug_traceCall: 30, bor_getAuthor: 2 },
  });
});

it.each([
  ['eth_call: 0', `units.yaml:1:11 eth_call: ${expectation}`],
  ['eth_call: 1 + blocks', 'units.yaml:1:11 eth_call: a method has no blocks'],
  [
    'eth_cal: 1',
    'units.yaml:1:1 eth_cal is no method of docs/reference/methods.md or of a network; did you mean eth_call?',
  ],
  ['bar_getAuthor: 1', 'units.yaml:1:1 bar_getAuthor is no method of docs/reference/methods.md or of a network'],
  ['bor_getAuthor: 1 + blocks', 'units.yaml:1:16 bor_getAuthor: a method has no blocks'],
  ['- eth_call', 'units.yaml:1:1 the file: expected map of methods to request units, not a list'],
  ['eth_call: 1\neth_call: 2', expect.stringContaining('units.yaml:2:')],
])('%j in the file of UNITS_FILE stops the start', (text, message) => {
  expect(unitsIn(text)).toEqual(message);
});

it('without the networks, the file of UNITS_FILE may name any method', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-units-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const file = join(folder, 'units.yaml');
  writeFileSync(file, 'bor_getAuthor: 2\n');
  expect(readUnits(file, undefined, methodFacts)).toEqual({ bor_getAuthor: 2 });
  expect(() => readUnits(file, [], methodFacts)).toThrow('bor_getAuthor is no method');
});

it('a file of UNITS_FILE that is missing stops the start', () => {
  expect(() => readUnits('/nowhere/units.yaml', [], methodFacts)).toThrow('UNITS_FILE cannot be read (ENOENT)');
  expect(() => readUnits('Infura', [], methodFacts)).toThrow('(ENOENT); did you mean infura?');
});
