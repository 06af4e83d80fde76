import { createHash } from 'node:crypto';
import { Pool } from 'undici';
import { rawItems, rawMembers } from '../e2e/raw-json.ts';
import { callText } from '../e2e/fuzz-requests.ts';
import { compileResultCheck } from '../../gateway/spec/result-check.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { HostileUpstream } from './hostile-upstream.ts';
import { Random } from './random.ts';
import { RawWebSocket, makeFrame } from './raw-web-socket.ts';
import type { Session } from './session.ts';
import { Counts, inParallel, short, type FuzzTarget } from './target.ts';

const NETWORKS = 5;
const BODIES = 120;
const AT_ONCE = 8;
const RESPONSE_MS = 15_000;
const checkResult = compileResultCheck();

type Json = Readonly<Record<string, unknown>>;

/** Ordinary callers of networks whose upstreams respond as HostileUpstream draws. */
export async function openUpstreamTarget(): Promise<FuzzTarget> {
  const counts = new Counts();
  const upstreams: HostileUpstream[] = [];
  const networks: Record<string, object> = {};
  for (let at = 0; at < NETWORKS; at++) {
    const chainId = 7_000 + at;
    const pair = await Promise.all([1, 2].map((seed) => HostileUpstream.start({ chainId, seed })));
    upstreams.push(...pair);
    const kinds = (
      [
        ['http', 'both'],
        ['http', 'http'],
        ['both', 'websocket'],
        ['websocket', 'http'],
        ['both', 'both'],
      ] as const
    )[at];
    networks[`hostile-${at}`] = {
      ...{ name: `Hostile ${at}`, chainId },
      upstreams: pair.map((upstream, index) => upstream.config(`node-${index}`, kinds?.[index] ?? 'http')),
    };
  }
  return {
    networks,
    counts: () => ({ ...counts.all, 'calls of the upstreams': upstreams.reduce((sum, { calls }) => sum + calls, 0) }),
    async stop() {
      await Promise.all(upstreams.map((upstream) => upstream.stop()));
    },
    async playRound(session, seed) {
      for (const [index, upstream] of upstreams.entries()) upstream.seed = seed * 100 + index;
      const secrets = [...session.secrets, ...upstreams.flatMap((upstream) => upstream.secrets)];
      const findings: string[] = [];
      const subscribers = Object.keys(networks).map((slug) => subscribe(session, slug, secrets, findings, counts));
      const pool = new Pool(session.address, {
        connections: AT_ONCE,
        headersTimeout: RESPONSE_MS,
        bodyTimeout: RESPONSE_MS,
      });
      const random = new Random(`calls ${seed}`);
      const bodies = Array.from({ length: BODIES }, (_, index) => drawCalls(random, index));
      await inParallel(bodies, AT_ONCE, async (calls, index) => {
        const slug = `hostile-${index % NETWORKS}`;
        const isBatch = calls.length > 1;
        const texts = calls.map(({ method, params, id }) => callText(method, params, id));
        const body = isBatch ? `[${texts.join()}]` : (texts[0] ?? '');
        const breach = await playBody(pool, `/${slug}/v3/${session.key}`, body, calls, secrets, counts);
        if (breach !== undefined) findings.push(`body ${index} at ${slug}, ${breach}\n  ${short(body)}`);
      });
      await pool.close();
      for (const socket of subscribers) socket.socket.destroy();
      return findings;
    },
  };
}

interface FuzzCall {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly id: string;
}

function drawCalls(random: Random, index: number): FuzzCall[] {
  const length = random.chance(0.2) ? 2 + random.below(8) : 1;
  return Array.from({ length }, (_, position) => {
    const account = hash(random.below(50)).slice(0, 42);
    const number = `0x${(950 + random.below(60)).toString(16)}`;
    const block = random.pick(['latest', 'latest', 'safe', 'finalized', 'earliest', 'pending', number]);
    const [method, params] = random.pick<[string, unknown[]]>([
      ['eth_blockNumber', []],
      ['eth_chainId', []],
      ['eth_gasPrice', []],
      ['eth_syncing', []],
      ['net_version', []],
      ['eth_getBalance', [account, block]],
      ['eth_getBalance', [account, block]],
      ['eth_getTransactionCount', [account, block]],
      ['eth_getCode', [account, block]],
      ['eth_getStorageAt', [account, `0x${random.below(1_000).toString(16)}`, block]],
      ['eth_call', [{ to: account, data: '0x01' }, block]],
      ['eth_estimateGas', [{ to: account }]],
      ['eth_getBlockByNumber', [block, random.chance(0.5)]],
      ['eth_getBlockByHash', [hash(random.below(50)), random.chance(0.5)]],
      ['eth_getBlockReceipts', [block]],
      ['eth_getTransactionByHash', [hash(random.below(50))]],
      ['eth_getTransactionReceipt', [hash(random.below(50))]],
      ['eth_getLogs', [{ fromBlock: number, toBlock: random.pick(['latest', number]) }]],
      ['eth_getLogs', [{ blockHash: hash(random.below(50)) }]],
      ['eth_feeHistory', ['0x2', block, []]],
      ['eth_getProof', [account, [], block]],
      ['eth_sendRawTransaction', [`0x02f8${hash(random.below(50)).slice(2)}`]],
      ['eth_newBlockFilter', []],
      ['debug_traceTransaction', [hash(random.below(50))]],
    ]);
    const number_ = index * 10 + position + 1;
    const id = random.pick([
      `${number_}`,
      `${number_}e3`,
      `"\\u0041${number_}"`,
      `${number_}.0`,
      `9007199254740993${number_}`,
    ]);
    return { method, params, id };
  });
}

async function playBody(
  pool: Pool,
  path: string,
  body: string,
  calls: readonly FuzzCall[],
  secrets: readonly string[],
  counts: Counts,
): Promise<string | undefined> {
  let status: number;
  let text: string;
  let retryAfter: unknown;
  try {
    const response = await pool.request({
      method: 'POST',
      path,
      body,
      headers: { 'content-type': 'application/json' },
    });
    [status, retryAfter] = [response.statusCode, response.headers['retry-after']];
    const read = await response.body.text().catch(() => undefined);
    if (read === undefined) {
      // The contract: a large response that breaks off after its first byte ends the connection.
      counts.add('broken off');
      return undefined;
    }
    text = read;
  } catch (error) {
    return String(error);
  }
  counts.add(`HTTP ${status}`);
  const shown = `\n  ${status} ${short(text)}`;
  const leak = leakIn(text, secrets);
  if (leak !== undefined)
    return `the response has ${leak}${shown.slice(0, 200)} … ${short(text.slice(Math.max(0, text.indexOf(leak) - 100)))}`;
  if (calls.length > 1 ? status !== 200 : ![200, 503].includes(status)) return `HTTP ${status}${shown}`;
  if (status === 503 && !/^\d+$/.test(String(retryAfter))) return `HTTP 503 without Retry-After${shown}`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return `not JSON${shown}`;
  }
  const items = calls.length > 1 ? parsed : [parsed];
  if (!Array.isArray(items) || items.length !== calls.length) return `not ${calls.length} responses${shown}`;
  const texts = calls.length > 1 ? rawItems(text) : [text];
  for (const [index, call] of calls.entries()) {
    const breach = breachOfItem(items[index], texts[index] ?? '', call, counts);
    if (breach !== undefined)
      return `${call.method} ${JSON.stringify(call.params)}: ${breach}\n  ${short(texts[index] ?? '', 1_500)}`;
  }
  return undefined;
}

/** Members of it may lack, because clients reject nulls in it. @param isFull whether its transactions are objects */
function isPendingBlock(result: unknown, isFull: unknown): boolean {
  if (typeof result !== 'object' || Array.isArray(result)) return false;
  const transactions: unknown = (result as Json | null)?.['transactions'] ?? [];
  const kind = isFull === true ? 'object' : 'string';
  return Array.isArray(transactions) && transactions.every((one) => one !== null && typeof one === kind);
}

function breachOfItem(
  item: unknown,
  text: string,
  { method, params, id }: FuzzCall,
  counts: Counts,
): string | undefined {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return 'not an object';
  const { jsonrpc, result, error } = item as Json;
  if (jsonrpc !== '2.0') return 'jsonrpc is not 2.0';
  const members = rawMembers(text);
  const names = members.map(([name]) => name).sort();
  if (members.find(([name]) => name === 'id')?.[1] !== id) return `the id is not ${id}`;
  if (error === undefined) {
    counts.add(result === null ? 'null' : 'results');
    if (names.join() !== 'id,jsonrpc,result') return `the members are ${names.join()}`;
    if (method === 'eth_getBlockByNumber' && params[0] === 'pending')
      return isPendingBlock(result, params[1]) ? undefined : `it is no pending block: ${text.slice(0, 200)}`;
    const deviation = checkResult(method, result);
    // Members are checked in samples only, and counted: `/blockHash must be string`. Those that lack are null in blocks,
    // transactions, receipts and logs only.
    const isIncomplete =
      method === 'eth_feeHistory' ||
      method === 'eth_getProof' ||
      (method === 'eth_syncing' && result instanceof Object);
    const isInside = isIncomplete || /^(\/\d+)?\/[a-z]/i.test(deviation ?? '');
    return deviation === undefined || isInside ? undefined : `the result is not that of the spec: ${deviation}`;
  }
  if (names.join() !== 'error,id,jsonrpc') return `the members are ${names.join()}`;
  const { code, message, data, ...rest } = error as Json;
  counts.add(`code ${String(code)}`);
  if (Object.keys(rest).length > 0) return `the error has ${Object.keys(rest).join()}`;
  if (typeof code !== 'number' || !Number.isSafeInteger(code)) return 'the code is no whole number';
  if (code !== 3 && code > -32000) return `the code is ${code}`;
  // An upstream's own message may be empty.
  if (typeof message !== 'string') return 'there is no message';
  if (message.startsWith('internal error')) return 'an internal error';
  if (data !== undefined && (typeof data !== 'string' || !/^0x([0-9a-f]{2})*$/i.test(data)))
    return 'data is not hexadecimal';
  return undefined;
}

/** A caller with subscriptions. What it gets must be notifications or responses, without a secret. */
function subscribe(
  session: Session,
  slug: string,
  secrets: readonly string[],
  findings: string[],
  counts: Counts,
): RawWebSocket {
  const ids = new Set<unknown>();
  const socket = new RawWebSocket(session.port, `/${slug}/ws/v3/${session.key}`, (text) => {
    const leak = leakIn(text, secrets);
    if (leak !== undefined) findings.push(`a message of ${slug} has ${leak}: ${short(text)}`);
    let message: Json;
    try {
      message = JSON.parse(text) as Json;
    } catch {
      findings.push(`a message of ${slug} is not JSON: ${short(text)}`);
      return;
    }
    const { id, result, error, method, params } = message;
    if (method === 'eth_subscription') {
      counts.add('notifications');
      const { subscription, result: head } = params as Json;
      if (!ids.has(subscription)) findings.push(`a notification of ${slug} for no subscription: ${short(text)}`);
      if (typeof head !== 'object' || head === null)
        findings.push(`a notification of ${slug} without an object: ${short(text)}`);
      else if (typeof (head as Json)['blockHash'] !== 'string' && typeof (head as Json)['hash'] !== 'string')
        findings.push(`a notification of ${slug} without a hash: ${short(text)}`);
    } else if ((id !== 1 && id !== 2) || (result === undefined) === (error === undefined)) {
      findings.push(`a message of ${slug} that is no response: ${short(text)}`);
    } else if (result !== undefined) ids.add(result);
  });
  const open = async (): Promise<void> => {
    while (!socket.isOpen && socket.closeCode === undefined) await scenarioPause(5);
    for (const [index, params] of [['newHeads'], ['logs', {}]].entries()) {
      socket.write(
        makeFrame({ opcode: 1, payload: Buffer.from(callText('eth_subscribe', params, String(index + 1))) }),
      );
    }
  };
  void open();
  return socket;
}

/** An upstream's own text may have a stack of its own, so that only secrets are searched for. */
function leakIn(text: string, secrets: readonly string[]): string | undefined {
  return secrets.find((secret) => text.includes(secret));
}

function hash(of: number): string {
  return `0x${createHash('sha256').update(String(of)).digest('hex')}`;
}
