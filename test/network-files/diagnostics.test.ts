import { describe, expect, it } from 'vitest';
import { good, loadFiles, diagnosticsOf } from './load.ts';

/** The valid file with one line replaced or appended. */
const withLineAt = (line: string, at = good.length): string[] => good.with(at, line).filter((text) => text !== '');
const withLines = (...lines: string[]): string[] => [...good, ...lines];
const wholeNumber = 'expected whole number from 1 to 9007199254740991';

// prettier-ignore
const notYaml: [string, string | string[], string][] = [
  ['a tab', 'name: Base\nupstreams:\n\t- name: one\n', '3:1 the line is indented with a tab; YAML allows only spaces'],
  ['a name twice', withLines('chainId: 1'), '6:1 this name appears twice in the same map'],
  ['a quote that is not closed', 'name: "Base\n', '2:1 a quote is not closed'],
  ['a bracket that is not closed', withLines('methods: [eth'), '7:1 the indentation does not fit the lines before, or a bracket is not closed'],
  ['no space after a colon', [...good.slice(0, 4), '    url:https://one'], '5:5 a colon and a space are missing after a name'],
  ['a colon in a value', 'name: Base: mainnet\n', '1:7 a value with a colon and a space in it needs quotes, or belongs on a line of its own'],
  ['a reserved character', 'name: @Base\n', '1:7 a value that starts with a special character needs quotes'],
  ['an escape', 'name: "\\q"\n', "1:8 a backslash within \"…\" starts an escape that YAML does not have; within '…' it is a plain character"],
  ['a bracket too many', withLines(']'), '6:1 unexpected text at this position'],
  ['a tag', ['name: !secret Base', ...good.slice(1)], '1:7 remove the tag (!…): no tag is needed'],
  ['a name that is a list', '? [name]\n: Base\n', '1:3 a name must be text: put it in quotes'],
  ['two documents', withLines('---', ...good), '6:1 a second document starts here: write one file for each network'],
  ['an alias of nothing', ['name: *base', ...good.slice(1)], '1:7 this alias (*…) has no anchor (&…) before it'],
  ['an alias of itself', ['name: &base', '  nested: *base', ...good.slice(1)], '1:1 there are too many aliases (*…), or an alias contains itself'],
  ['ten to the power of twelve aliases', bomb(), '1:1 there are too many aliases (*…), or an alias contains itself'],
  ['brackets in brackets', `name: ${'['.repeat(50_000)}`, 'the nesting is too deep'],
  ['lists in lists of one line', `name: Base\ntls:\n  ${'- '.repeat(20_000)}one`, '1:1 the nesting is too deep'],
  ['20,000 aliases', [...good, 'list:', ...Array.from({ length: 20_000 }, () => '  - *none')], '1:1 there are more than 200 aliases (*…)'],
  ['more than 256 kB', `# ${'x'.repeat(257 * 1024)}\n${good.join('\n')}`, '1:1 the file is larger than 256 kB'],
];

// prettier-ignore
const otherShapes: [string, string | string[], string[]][] = [
  ['empty', '', ['1:1 the file is empty: expected a map with name, chainId and upstreams']],
  ['comments only', '# Base\n', ['1:1 the file is empty: expected a map with name, chainId and upstreams']],
  ['a list', '- name: Base\n', ['1:1 the file: expected map with name, chainId and upstreams, not a list']],
  ['text', 'Base', ['1:1 the file: expected map with name, chainId and upstreams, not text']],
  ['without required members', 'methods: [eth]', [
    '1:1 name is missing: expected text of 1 to 80 characters',
    `1:1 chainId is missing: ${wholeNumber}`,
    '1:1 upstreams is missing: expected list of at least one upstream',
  ]],
  ['a name that is a number', withLineAt('name: 1', 0), ['1:7 name: expected text of 1 to 80 characters, not a number']],
  ['a name that is empty', withLineAt("name: ''", 0), ['1:7 name: expected text of 1 to 80 characters']],
  ['a name without a value', withLineAt('name:', 0), ['1:6 name: expected text of 1 to 80 characters; the value is missing']],
  ['a name that is true', withLineAt('name: true', 0), ['1:7 name: expected text of 1 to 80 characters, not true or false']],
  ['chain id 0', withLineAt('chainId: 0', 1), [`2:10 chainId: ${wholeNumber}`]],
  ['chain id -1', withLineAt('chainId: -1', 1), [`2:10 chainId: ${wholeNumber}`]],
  ['chain id 1.5', withLineAt('chainId: 1.5', 1), [`2:10 chainId: ${wholeNumber}`]],
  ['chain id -1.5', withLineAt('chainId: -1.5', 1), [`2:10 chainId: ${wholeNumber}`]],
  ['chain id 2⁵³', withLineAt('chainId: 9007199254740992', 1), [`2:10 chainId: ${wholeNumber}`]],
  ['an infinite chain id', withLineAt('chainId: .inf', 1), [`2:10 chainId: ${wholeNumber}`]],
  ['chain id as text', withLineAt("chainId: '1'", 1), [`2:10 chainId: ${wholeNumber}, not text`]],
  ['no upstreams', ['name: Base', 'chainId: 1', 'upstreams:'], ['3:11 upstreams: expected list of at least one upstream; the value is missing']],
  ['an upstream that is a URL', ['name: Base', 'chainId: 1', 'upstreams: [https://one]'], ['3:13 upstreams[0]: expected map with name and url, or with provider, not text']],
  ['an upstream without a name', ['name: Base', 'chainId: 1', 'upstreams:', '  - url: https://one'], ['4:5 upstreams[0].name is missing: expected text of 1 to 40 letters, digits, dots, hyphens and underscores']],
  ['a name of an upstream with blanks', withLineAt('  - name: One Node', 3), ['4:11 upstreams[0].name: expected text of 1 to 40 letters, digits, dots, hyphens and underscores']],
  ['an upstream without url, websocketUrl, spawn and provider', good.slice(0, 4), ['4:5 upstreams[0]: expected url, websocketUrl or both, or else spawn, or else provider']],
  ['url and spawn', withLines('    spawn: anvil'), ['4:5 upstreams[0]: expected url, websocketUrl or both, or else spawn, or else provider']],
  ['websocketUrl and spawn', [...good.slice(0, 4), '    websocketUrl: wss://one.example', '    spawn: anvil'], ['4:5 upstreams[0]: expected url, websocketUrl or both, or else spawn, or else provider']],
  ['spawn of another node', withLineAt('    spawn: geth', 4), ['5:12 upstreams[0].spawn: expected anvil']],
  ['a websocketUrl with another scheme', withLines('    websocketUrl: https://one.example'), ['6:19 upstreams[0].websocketUrl: expected ws or wss URL']],
  ['a url with a WebSocket scheme', withLineAt('    url: wss://one.example', 4), ['5:10 upstreams[0].url: expected http or https URL']],
  ['a url with blanks', withLineAt('    url: https://one.example/a b', 4), ['5:10 upstreams[0].url: expected http or https URL']],
  ['a timeout of 0', withLines('    failsafe: { timeoutMs: 0 }'), ['6:28 upstreams[0].failsafe.timeoutMs: expected whole number of milliseconds from 1 to 600000']],
  ['a hedge that is neither off nor a number', withLines('failsafe: { hedgeAfterMs: soon }'), ['6:27 failsafe.hedgeAfterMs: expected off, or whole number of milliseconds from 1 to 60000']],
  ['a hedge delay of 0', withLines('failsafe: { hedgeAfterMs: 0 }'), ['6:27 failsafe.hedgeAfterMs: expected off, or whole number of milliseconds from 1 to 60000']],
  ['a fractional priority', withLines('    priority: 0.5'), ['6:15 upstreams[0].priority: expected whole number from 0 to 1000']],
  ['an archive that is text', withLines('    archive: maybe'), ['6:14 upstreams[0].archive: expected true or false, not text']],
  ['a rate of 0', withLines('    limits: { perSecond: 0 }'), ['6:26 upstreams[0].limits.perSecond: expected number above 0']],
  ['an unknown limit', withLines('    limits: { persecond: 5 }'), ['6:15 upstreams[0].limits.persecond is not known; did you mean perSecond?']],
  ['a burst without a rate', withLines('    limits: { burst: 5 }'), ['6:13 upstreams[0].limits.perSecond is missing: expected number above 0']],
  ['no limits', withLines('    limits: {}'), ['6:13 upstreams[0].limits: expected map with perSecond, which may have burst beside it, or concurrency']],
  ['a time with its unit', withLines('    failsafe: { timeoutMs: 5s }'), ['6:28 upstreams[0].failsafe.timeoutMs: expected whole number of milliseconds from 1 to 600000, not text']],
  ['headers as a list', withLines('    headers: [a]'), ['6:14 upstreams[0].headers: expected map of header names to values, not a list']],
  ['a header that is a number', withLines('    headers: { x-id: 5 }'), ['6:22 upstreams[0].headers.x-id: expected header value of printable characters, not a number']],
  ['a header of blanks', withLines('    headers: { x id: a }'), ['6:16 upstreams[0].headers.(name not shown): expected header name']],
  ['a base URL without scheme', withLines('baseUrls: [example.org]'), ['6:12 baseUrls[0]: expected http or https URL without query']],
  ['the same base URL twice', withLines('baseUrls: [https://a.org, https://a.org]'), ['6:27 baseUrls[1] is the same as baseUrls[0]']],
  ['no methods', withLines('methods: []'), ['6:10 methods: expected list of namespaces and methods']],
];

// prettier-ignore
const wrongMethods: [string, string][] = [
  ['[eht]', '6:11 methods[0]: eht is neither a namespace nor a method of the spec; did you mean eth?'],
  ['[eth_getStorage]', '6:11 methods[0]: eth_getStorage is neither a namespace nor a method of the spec; did you mean eth_getStorageAt?'],
  ['[eth, -eth_getstorageat]', '6:16 methods[1]: eth_getstorageat is neither a namespace nor a method of the spec; did you mean eth_getStorageAt?'],
  ['[foo]', '6:11 methods[0]: foo is neither a namespace nor a method of the spec; for its methods without a schema, write foo_*'],
  // Similar to methods of the spec, or the start of one: typing errors.
  ['[eth_getBlock]', '6:11 methods[0]: eth_getBlock is neither a namespace nor a method of the spec; did you mean eth_getBlockByHash?'],
  ['[eth_getblockbynumbr]', '6:11 methods[0]: eth_getblockbynumbr is neither a namespace nor a method of the spec; did you mean eth_getBlockByNumber?'],
  ['[net_versions]', '6:11 methods[0]: net_versions is neither a namespace nor a method of the spec; did you mean net_version?'],
  ['[eht_getLogs]', '6:11 methods[0]: eht_getLogs is neither a namespace nor a method of the spec; did you mean eth_getLogs?'],
  ['[zk_estimateFee]', '6:11 methods[0]: zk_estimateFee is neither a namespace nor a method of the spec; did you mean zks_estimateFee?'],
  ['[Debug_traceBlock]', '6:11 methods[0]: Debug_traceBlock is neither a namespace nor a method of the spec'],
  ['[debug]', '6:11 methods[0]: debug is neither a namespace nor a method of the spec; for its methods without a schema, write debug_*'],
  ['[debug_]', '6:11 methods[0]: debug_ is neither a namespace nor a method of the spec'],
  ['[eth, -debug_traceBlock]', '6:16 methods[1]: debug_traceBlock is neither a namespace nor a method of the spec'],
  ['[eth, "-debug_*"]', '6:16 methods[1]: debug_* is neither a namespace nor a method of the spec'],
  ['["debug_*", -trace_block]', '6:22 methods[1]: trace_block is neither a namespace nor a method of the spec'],
  ['["eth_*"]', '6:11 methods[0]: eth_* is a namespace of the spec: eth selects its methods, and others need their full names'],
  ['["zks_get*"]', '6:11 methods[0]: zks_get* is a namespace of the spec: zks selects its methods, and others need their full names'],
  ['["debug*"]', '6:11 methods[0]: debug* has no namespace: expected debug_* or debug_trace*'],
  ['["*"]', '6:11 methods[0]: expected namespace, method or wildcard, a minus before it to take it away'],
  ['["debug_*Block"]', '6:11 methods[0]: expected namespace, method or wildcard, a minus before it to take it away'],
  ...['admin_*', 'personal_*', 'miner_*', 'engine_*', 'opp2p_*', 'admin_p*', 'debug_set*', 'debug_chaindbCompact*', 'bor_writeBor*'].map((name): [string, string] => [`["${name}"]`, `6:11 methods[0]: ${name} would open methods that change a node, its files or its keys: name each method that is needed`]),
  ['[-eth_getstorageat]', '6:11 methods[0]: eth_getstorageat is neither a namespace nor a method of the spec; did you mean eth_getStorageAt?'],
  ['[-eth, -net, -web3, -rpc]', '6:10 methods: the list selects no method; add namespaces or methods, as in [eth, net, web3, -eth_getStorageAt]'],
  ['[eth, -eth]', '6:10 methods: the list selects no method; add namespaces or methods, as in [eth, net, web3, -eth_getStorageAt]'],
];

describe('a network file that is not YAML', () => {
  it.each(notYaml)('%s', (_, text, diagnostic) => {
    expect(diagnosticsOf(text)).toEqual([expect.stringContaining(diagnostic)]);
  });

  it('has one diagnostic for each line', () => {
    expect(diagnosticsOf(withLines('chainId: 1', 'colour: @x'))).toEqual([
      '6:1 this name appears twice in the same map',
      '7:9 a value that starts with a special character needs quotes',
    ]);
  });
});

describe('a network file of the wrong shape', () => {
  it.each(otherShapes)('%s', (_, text, diagnostics) => {
    expect(diagnosticsOf(text)).toEqual(diagnostics);
  });
});

describe('an unknown name', () => {
  it.each<[string[], string]>([
    [withLines('    timeout: 5'), '6:5 upstreams[0].timeout is not known: write failsafe: { timeoutMs: … }'],
    [withLines('    Headers: {}'), '6:5 upstreams[0].Headers is not known; did you mean headers?'],
    [withLines('method: [eth]'), '6:1 method is not known; did you mean methods?'],
    [withLines('base_urls: []'), '6:1 base_urls is not known; did you mean baseUrls?'],
    [withLines('colour: red'), '6:1 colour is not known'],
    [withLines('1: x'), '6:1 1 is not known'],
    [withLines('__proto__: { name: x }'), '6:1 __proto__ is not known'],
  ])('in %j: %s', (lines, diagnostic) => {
    expect(diagnosticsOf(lines)).toEqual([diagnostic]);
  });

  it('is reported beside the missing member', () => {
    expect(diagnosticsOf(['name: Base', 'chainid: 1', ...good.slice(2)])).toEqual([
      `1:1 chainId is missing: ${wholeNumber}`,
      '2:1 chainid is not known; did you mean chainId?',
    ]);
  });
});

describe('methods', () => {
  const selectedMethods = (methods: string): readonly string[] | undefined =>
    loadFiles({ 'base.yaml': withLines(`methods: ${methods}`).join('\n') })[0]?.methods;

  it('default to eth, net, web3 and rpc', () => {
    const namespaces = loadFiles({ 'base.yaml': good.join('\n') })[0]?.methods.map((name) => name.split('_')[0]);
    expect(new Set(namespaces)).toEqual(new Set(['eth', 'net', 'web3', 'rpc', 'rpc.discover']));
  });

  it('are namespaces and single methods, without those after a minus, in any order', () => {
    expect(selectedMethods('[net, eth_chainId]')).toEqual(expect.arrayContaining(['net_version', 'eth_chainId']));
    expect(selectedMethods('[eth_chainId]')).toEqual(['eth_chainId']);
    for (const methods of ['[eth, -eth_getStorageAt]', '[-eth_getStorageAt, eth, eth]']) {
      expect(selectedMethods(methods)).not.toContain('eth_getStorageAt');
      expect(selectedMethods(methods)).toContain('eth_estimateGas');
    }
    expect(selectedMethods('\n  - eth_chainId\n  - -zks')).toEqual(['eth_chainId']);
  });

  it('are those of the default list without some, if all entries have a minus', () => {
    const all = selectedMethods('[eth, net, web3, rpc]') ?? [];
    expect(selectedMethods('[-eth_getStorageAt, -net_listening]')).toEqual(
      all.filter((name) => !['eth_getStorageAt', 'net_listening'].includes(name)),
    );
  });

  it('are also full method names of namespaces outside the spec', () => {
    const passThrough = ['debug_traceTransaction', 'trace_block', 'bor_getAuthor', 'txpool_content', 'anvil_mine'];
    expect(selectedMethods(`[eth_chainId, ${passThrough.join(', ')}, trace_block]`)).toEqual([
      'eth_chainId',
      ...passThrough,
    ]);
    expect(selectedMethods('[debug_traceBlock]')).toEqual(['debug_traceBlock']);
    // Also of namespaces of the spec, and of methods that no wildcard opens.
    const others = ['eth_getHeaderByHash', 'net_peerCount', 'zks_getL1BatchDetails', 'debug_setHead', 'admin_peers'];
    expect(selectedMethods(`[${others.join(', ')}]`)).toEqual(others);
  });

  it('are also wildcards of methods without a schema, with exceptions', () => {
    const text = withLines(
      'methods: [-debug_traceChain, "debug_*", eth_call, "trace_r*", "-debug_get*", debug_setHead]',
    );
    const [network] = loadFiles({ 'base.yaml': text.join('\n') });
    expect(network?.methods).toEqual(['eth_call', 'debug_setHead']);
    expect(network?.openMethods.wildcards).toEqual(['debug_*', 'trace_r*']);
    expect(network?.openMethods.except.toSorted()).toEqual(['debug_get*', 'debug_traceChain']);
  });

  it.each(wrongMethods)('%s: %s', (methods, diagnostic) => {
    expect(diagnosticsOf(withLines(`methods: ${methods}`))).toEqual([diagnostic]);
  });
});

/** Each list contains the previous one ten times. */
function bomb(): string {
  const lists = Array.from({ length: 12 }, (_, level) => {
    const item = level === 0 ? 'x' : `*l${level - 1}`;
    return `l${level}: &l${level} [${Array<string>(10).fill(item).join(', ')}]`;
  });
  return `${lists.join('\n')}\n`;
}
