import { connect } from 'node:net';
import fc from 'fast-check';
import { Pool } from 'undici';
import { framingCases } from '../abuse/attacks/framing-cases.ts';
import { breachOf, type ContractOptions, type FuzzResponse } from '../e2e/fuzz-contract.ts';
import { fuzzRequests, type FuzzRequest } from '../e2e/fuzz-requests.ts';
import { sendFuzzRequest } from '../e2e/send-fuzz-request.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { startAnvil } from '../support/anvil.ts';
import { Random } from './random.ts';
import type { Session } from './session.ts';
import { Counts, inParallel, short, type FuzzTarget } from './target.ts';

const REQUESTS = 300;
const RAW_CONNECTIONS = 30;
const AT_ONCE = 8;
const RESPONSE_MS = 15_000;

/** Requests of test/e2e/fuzz-requests.ts, by an HTTP client and in framing by hand. */
export async function openHttpTarget(): Promise<FuzzTarget> {
  const anvil = await startAnvil({ chainId: 4_242 });
  const counts = new Counts();
  return {
    networks: { local: { name: 'Local', chainId: 4_242, upstreams: [{ name: 'node', url: anvil.url }] } },
    counts: () => counts.all,
    stop: () => anvil.stop(),
    async playRound(session, seed) {
      const path = `/local/v3/${session.key}`;
      const secrets = [...session.secrets, anvil.url, new URL(anvil.url).host];
      const options: ContractOptions = { base: '/local/v3/', key: session.key, secrets };
      const arbitrary = fuzzRequests(path, anvil.chain);
      const requests = fc.sample(arbitrary, { seed, numRuns: REQUESTS });
      const findings: string[] = [];
      const pool = new Pool(session.address, {
        connections: AT_ONCE,
        headersTimeout: RESPONSE_MS,
        bodyTimeout: RESPONSE_MS,
      });
      await inParallel(requests, AT_ONCE, async (request, index) => {
        const response = await sendFuzzRequest(pool, request).catch(String);
        const breach = typeof response === 'string' ? response : breachOf(request, response, options);
        counts.add(typeof response === 'string' ? 'failed' : `HTTP ${response.status}`);
        if (breach !== undefined)
          findings.push(`request ${index}, ${breach}\n  ${shown(request)}\n  ${shownResponse(response)}`);
      });
      await pool.close();
      const connections = Array.from({ length: RAW_CONNECTIONS }, (_, index) => index);
      const posts = requests.filter(({ verb, body }) => verb === 'POST' && body.length < 100_000);
      await inParallel(connections, AT_ONCE, async (_, index) => {
        const random = new Random(`${seed} ${index}`);
        const breach = await playConnection(session, random, posts, options, counts);
        if (breach !== undefined) findings.push(`connection ${index}, ${breach}`);
      });
      return findings;
    },
  };
}

/** Pipelines requests in odd but valid framing, and perhaps one in an ambiguous one. */
async function playConnection(
  { port }: Session,
  random: Random,
  posts: readonly FuzzRequest[],
  options: ContractOptions,
  counts: Counts,
): Promise<string | undefined> {
  const requests = Array.from({ length: 1 + random.below(4) }, () => random.pick(posts));
  const ambiguous = random.chance(0.3) ? random.pick(framingCases) : undefined;
  const texts = requests.map((request, index) => {
    const isLast = ambiguous === undefined && index === requests.length - 1;
    return framed(request, random, isLast);
  });
  const end = ambiguous?.text(requests[0]?.path ?? '', '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}');
  const bytes = Buffer.concat([...texts, Buffer.from(end ?? '', 'latin1')]);
  const received = await exchange(port, bytes, random);
  if (typeof received === 'string')
    return `${received}: ${ambiguous?.name ?? ''}\n  ${requests.map(shown).join('\n  ')}`;
  const responses = readResponses(received);
  for (const { status } of responses) counts.add(`raw HTTP ${status}`);
  const shownAll = `${short(JSON.stringify(bytes.toString('latin1')), 1_500)}\n  ${ambiguous?.name ?? ''}\n  ${requests.map(shown).join('\n  ')}\n  ${short(received.toString('latin1'), 1_500)}`;
  for (const [index, request] of requests.entries()) {
    const response = responses[index];
    if (response === undefined) return `${responses.length} of ${requests.length} responses\n${shownAll}`;
    // What comes after may end the connection before a response that takes longer.
    const isLast = index === responses.length - 1;
    const isCutOff = ambiguous !== undefined && isLast && response.text.includes('bad HTTP request');
    if (isCutOff) return undefined;
    const breach = breachOf(request, response, options);
    if (breach !== undefined) return `request ${index}: ${breach}\n${shownAll}`;
  }
  const rest = responses.slice(requests.length);
  if (ambiguous === undefined) return rest.length === 0 ? undefined : `a response too many\n${shownAll}`;
  if (rest.length > 1) return `a response too many after ${shownAll}`;
  const [last] = rest;
  if (last !== undefined && (last.status < 400 || last.status >= 500)) return `HTTP ${last.status} for ${shownAll}`;
  return undefined;
}

function framed({ path, body, headers, isGzip }: FuzzRequest, random: Random, isLast: boolean): Buffer {
  const bytes = Buffer.from(body);
  const cased = (name: string): string => random.pick([name, name.toLowerCase(), name.toUpperCase()]);
  const lines = [`POST ${path} HTTP/1.1`, `${cased('Host')}: ${random.pick(['a', '127.0.0.1', 'x.example:80'])}`];
  // The client's compression is tested with an HTTP client.
  for (const [name, value] of Object.entries(isGzip === true ? {} : headers)) lines.push(`${name}: ${value}`);
  for (let count = random.below(20); count > 0; count--) {
    const value = random.pick(['', 'a', '\t b \t', 'é', 'x'.repeat(200), ',,,', '"', '%00']);
    lines.push(`${cased(`X-${random.pick(['A', 'B', 'Request-Id', 'Real-Ip', '_.~!'])}`)}:${value}`);
  }
  lines.push(`Content-Type:${random.pick(['application/json', 'text/plain', '', 'x; charset=utf-16'])}`);
  if (isLast) lines.push('Connection: close');
  if (random.chance(0.5)) {
    lines.push(`${cased('Content-Length')}: ${'0'.repeat(random.below(3))}${bytes.length}`);
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
  }
  lines.push(`${cased('Transfer-Encoding')}: ${random.pick(['chunked', 'Chunked', ' chunked'])}`);
  const parts: Buffer[] = [];
  const size = random.pick([1, 2, 7, 100, 5_000]);
  for (let at = 0, count = 0; at < bytes.length; count++) {
    const chunk = bytes.subarray(at, (at += count < 300 ? size : bytes.length));
    const length = chunk.length.toString(16);
    const written = random.pick([
      length,
      length.toUpperCase(),
      length.padStart(6, '0'),
      `${length};a=b`,
      `${length};x="y"`,
    ]);
    parts.push(Buffer.from(`${written}\r\n`), chunk, Buffer.from('\r\n'));
  }
  const trailers = random.pick(['', '', 'X-A: b\r\n', 'X-A:\r\nx-a: é\r\n']);
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'),
    ...parts,
    Buffer.from(`0\r\n${trailers}\r\n`),
  ]);
}

/** Writes bytes in a few parts. @returns what arrives until the end of the connection, or why there is none */
async function exchange(port: number, bytes: Buffer, random: Random): Promise<Buffer | string> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  const parts: Buffer[] = [];
  socket.on('error', () => undefined).on('data', (part: Buffer) => parts.push(part));
  const closed = new Promise<true>((resolve) => {
    socket.once('close', () => {
      resolve(true);
    });
  });
  for (let at = 0, count = 0; at < bytes.length && !socket.destroyed; count++) {
    const size = count > 8 ? bytes.length : 1 + random.below(Math.max(1, Math.min(bytes.length, 20_000)));
    socket.write(bytes.subarray(at, at + size));
    at += size;
    await scenarioPause(random.pick([0, 1, 5]));
  }
  const isClosed = await Promise.race([closed, scenarioPause(RESPONSE_MS)]);
  socket.destroy();
  return isClosed === true ? Buffer.concat(parts) : `the connection is open after ${RESPONSE_MS / 1_000} s`;
}

function readResponses(bytes: Buffer): FuzzResponse[] {
  const responses: FuzzResponse[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end === -1) break;
    const [first = '', ...lines] = bytes.toString('latin1', at, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    at = end + 4 + Number(headers['content-length'] ?? 0);
    responses.push({ status: Number(first.split(' ')[1]), headers, text: bytes.toString('utf8', end + 4, at) });
  }
  return responses;
}

function shown({ kind, verb, path, body, chunked }: FuzzRequest): string {
  return `${kind}: ${verb} ${short(path, 60)} ${chunked ? 'in chunks ' : ''}${short(body)}`;
}

function shownResponse(response: FuzzResponse | string): string {
  return typeof response === 'string' ? response : `${response.status} ${short(response.text)}`;
}
