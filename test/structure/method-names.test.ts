import { expect, it } from 'vitest';
import { parse, sourcesIn } from './imports.ts';
import { methodNamesIn } from './method-names.ts';

/** The table of handlers, the banner and the doctor. */
const allowed = ['gateway/spec/handlers.ts', 'gateway/cli/banner.ts', 'gateway/doctor/'];

const hint =
  'names of methods stand in schemas/methods: add a property or a `role` under x-gatehouse, and use MethodSpec or nodeMethods';

const found = sourcesIn('gateway')
  .filter((file) => !file.endsWith('.generated.ts'))
  .map((file) => [file, methodNamesIn(parse(file), file.startsWith('gateway/normalise/errors/'))] as const);

it('no code outside the table of handlers, the banner and the doctor names a method', () => {
  const others = found.filter(([file]) => !allowed.some((place) => file.startsWith(place)));
  expect(
    others.flatMap(([, names]) => names),
    hint,
  ).toEqual([]);
});

it('each place that may name methods names some', () => {
  const naming = found.flatMap(([file, names]) => (names.length > 0 ? [file] : []));
  expect(allowed.filter((place) => !naming.some((file) => file.startsWith(place)))).toEqual([]);
});

it.each([
  "method.name === 'eth_call'",
  "name.startsWith('eth_getUncle')",
  'const method = `eth_call`;',
  'const method = `eth_${verb}`;',
  'const text = `{"method":"eth_subscription","params":${params}}`;',
  '/^eth_getUncle/.test(name)',
  "const table = { 'debug_traceCall': 1 };",
  'const table = { eth_call: 1 };',
  'specs.eth_call',
  "name === 'rpc.discover'",
  'method.name === nodeMethods.call',
  'nodeMethods.call !== item.method',
  'switch (name) { case nodeMethods.call: }',
])('this check finds %s', (text) => {
  expect(methodNamesIn(parse('gateway/x.ts', text), false)).toHaveLength(1);
});

it.each([
  '// eth_call',
  "const counter = 'gatehouse_calls_total';",
  "const attribute = 'rpc.method';",
  "const source = 'observed with eth_call';",
  'specOf(nodeMethods.call, specs)',
])('this check ignores %s', (text) => {
  expect(methodNamesIn(parse('gateway/x.ts', text), false)).toEqual([]);
});
