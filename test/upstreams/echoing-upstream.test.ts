import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startFakeNode } from '../support/fake-node.ts';
import { startFakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { network, startGateway } from '../support/gateway.ts';

const CHAIN_ID = 7;
const password = 'pa ss:w/rd+1';
const token = 'T0ken+Of/Ours==';
const pathKey = 'AbCdEfGhIjKlMnOp';
const user = `me:${encodeURIComponent(password)}`;
/** Only in the WebSocket URL of the upstream over HTTP. */
const otherKey = '0therKeyOfOurs';
const address = `/v2/${pathKey}?key=${encodeURIComponent(token)}`;
const headers = { 'x-token': token, cookie: `session=${token}` };

/** All forms that a caller must not see. */
const hidden = [password, encodeURIComponent(password), token, encodeURIComponent(token), pathKey, otherKey].flatMap(
  (text) => [
    text,
    text.replace(/=+$/, ''),
    Buffer.from(text).toString('hex'),
    JSON.stringify(text).slice(1, -1),
    text.replaceAll('/', '\\/'),
  ],
);
const base64 = Buffer.from(`me:${password}`).toString('base64').replace(/=+$/, '');

const filler = `0x${'ab'.repeat(50_000)}`;

/** What a faulty proxy or a debug endpoint writes about a request: URL and headers, as received and decoded. */
function echoOf(path: string, received: object): { text: string; whole: object } {
  const { authorization = '' } = received as { authorization?: string };
  const decoded = Buffer.from(authorization.slice(6), 'base64').toString();
  const whole = { url: path, decodedUrl: decodeURIComponent(path), headers: received, decoded };
  return { whole, text: `at ${path} ${decodeURIComponent(path)} ${decoded} ${Object.values(received).join(' ')}` };
}

/** The bodies of the upstream responses to all calls, each with another place for the echo. */
const places = ({ text, whole }: ReturnType<typeof echoOf>): readonly object[] => [
  { result: whole },
  { result: [1, { [text]: true }, null] },
  { result: text },
  { result: { id: 1, text: JSON.stringify(whole) } },
  // Too large to be parsed, and in one case only.
  { result: { whole, filler } },
  { result: { text: text.toUpperCase(), filler } },
  { result: { text: text.toLowerCase(), filler } },
  { result: { text: JSON.stringify(whole), filler } },
  { error: { code: -32000, message: text } },
  { error: { code: -32000, message: `failed: ${JSON.stringify(whole)}` } },
  { error: { code: -32603, message: 'Internal error', data: whole } },
  { error: { code: -32603, message: 'Internal error', data: { message: text, code: -32001 } } },
  { error: { code: 3, message: `execution reverted: ${text}`, data: revertData(text) } },
];

/** The data of a revert with this reason: Error(string). */
function revertData(reason: string): string {
  const bytes = Buffer.from(reason);
  const word = (number: number): string => number.toString(16).padStart(64, '0');
  const body = bytes.toString('hex').padEnd(Math.ceil(bytes.length / 32) * 64, '0');
  return `0x08c379a0${word(32)}${word(bytes.length)}${body}`;
}

it.each(['http', 'ws'] as const)(
  'an upstream that echoes URL and headers reveals no credential over %s',
  async (kind) => {
    const node = await startFakeNode({ chainId: CHAIN_ID });
    const socketNode = await startFakeWebSocketNode(CHAIN_ID);
    const at = new URL(kind === 'http' ? node.url : socketNode.url).host;
    const lines: string[] = [];
    const log = pino({ level: 'trace', base: null }, { write: (line) => void lines.push(line) });
    const place = kind === 'http' ? 'url' : 'websocketUrl';
    const other = kind === 'http' && { websocketUrl: `${socketNode.url}/${otherKey}` };
    const upstreams = [{ name: 'one', [place]: `${kind}://${user}@${at}${address}`, headers, ...other }];
    const file = network(CHAIN_ID, [], { upstreams, methods: ['eth', 'zks'] });
    const gateway = await startGateway({ test: file }, { CACHE_MAX_BYTES: '0' }, log);
    onTestFinished(async () => {
      await gateway.stop();
      await Promise.all([node.close(), socketNode.stop()]);
    });

    let body: (echo: ReturnType<typeof echoOf>) => object = () => ({});
    node.always(({ id, response }) => {
      const { path, headers: received } = node.calls.at(-1) ?? { path: '', headers: {} };
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body(echoOf(path, { ...received, otherKey })) }));
    });
    socketNode.onCall(({ id, sendText }) => {
      const { path, headers: received } = socketNode.handshakes.at(-1) ?? { path: '', headers: {} };
      sendText(JSON.stringify({ id, jsonrpc: '2.0', ...body(echoOf(path, received)) }));
    });
    const shown: string[] = [];
    for (const index of places(echoOf('', {})).keys()) {
      body = (echo) => places(echo)[index] ?? {};
      for (const [method, params] of [
        ['zks_getFeeParams', []],
        ['eth_call', [{ to: `0x${'11'.repeat(20)}` }, 'latest']],
      ] as const) {
        const response = await gateway.post('test', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
        shown.push(await response.text());
      }
    }
    expect(shown.filter((text) => text.includes('<upstream>')).length).toBeGreaterThanOrEqual(8);
    expect(lines.join('')).toContain('upstream failed');
    const all = [...shown, ...lines].join('\n');
    const forms = [...hidden, base64, at].flatMap((text) => [text, text.toUpperCase(), text.toLowerCase()]);
    expect(forms.filter((text) => all.includes(text))).toEqual([]);
  },
);

/** Spellings of a string as JSON. */
const spellings: readonly (readonly [string, (text: string) => string])[] = [
  ['as it is sent', (text) => JSON.stringify(text)],
  ['in upper case', (text) => JSON.stringify(text.toUpperCase())],
  [
    'in escapes',
    (text) => `"${Array.from(text, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`,
  ],
  ['with one escape', (text) => JSON.stringify(text).replace('/', '\\/').replace(/[AB]/, '\\u0041')],
];

it.each(spellings)('a credential %s is removed from results in which the schema has no text', async (_, spell) => {
  const node = await startFakeNode({ chainId: CHAIN_ID });
  const upstreams = [{ name: 'one', url: `${node.url}${address}` }];
  const gateway = await startGateway({ test: network(CHAIN_ID, [], { upstreams }) });
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  const log = {
    ...{ address: `0x${'11'.repeat(20)}`, topics: [], data: '0x', blockNumber: '0x1', logIndex: '0x0', removed: false },
    ...{ blockHash: `0x${'22'.repeat(32)}`, transactionHash: `0x${'33'.repeat(32)}`, transactionIndex: '0x0' },
  };
  const echo = `${node.url}${address}`;
  for (const [method, params, result] of [
    ['eth_estimateGas', [{ to: `0x${'11'.repeat(20)}` }], { url: echo }],
    ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x1' }], [{ ...log, x: { url: echo } }]],
    ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x1' }], [{ ...log, data: filler, x: { url: echo } }]],
    // So large that it is searched in steps.
    ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x1' }], [{ ...log, data: filler.repeat(6), x: { url: echo } }]],
  ] as const) {
    node.always(({ id, response }) => {
      const text = JSON.stringify({ jsonrpc: '2.0', id, result }).replaceAll(JSON.stringify(echo), spell(echo));
      // Without a length, so that it is collected: one that flows would end the connection.
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    }, method);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const text = await (await gateway.post('test', body)).text();
    // As a client reads it.
    const read = JSON.stringify(JSON.parse(text)).toLowerCase();
    expect(read).not.toContain(pathKey.toLowerCase());
    expect(read).not.toContain(encodeURIComponent(token).toLowerCase());
  }
});
