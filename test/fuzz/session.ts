import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clock } from '../../gateway/clock/clock.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { openNeighbour } from '../abuse/neighbour.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { HostileUpstream } from './hostile-upstream.ts';

/** The bounds of an operator, beside the contract for each response. */
export const bounds = { memoryBytes: 512 * 2 ** 20, blockMs: 300 } as const;

const ADMIN_TOKEN = 'the-admin-token-of-the-fuzzer';
const NEIGHBOUR_PAUSE_MS = 200;
const START_MS = 30_000;

/** A gateway process with a neighbour: a caller on a network of its own. */
export interface Session {
  readonly port: number;
  readonly address: string;
  readonly key: string;
  /** Texts that no caller may get. */
  readonly secrets: readonly string[];
  /** What has gone beyond a bound since the last call. */
  takeFindings(): string[];
  /** Figures so far, for the report. */
  figures(): string;
  stop(): Promise<void>;
}

/** @param networks by slug, beside that of the neighbour */
export async function startSession(networks: Readonly<Record<string, object>>, plant?: string): Promise<Session> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-fuzz-'));
  const blocks = join(folder, 'blocks');
  const honest = await HostileUpstream.start({ chainId: 5_001, isHonest: true });
  mkdirSync(join(folder, 'networks'));
  const files = {
    quiet: { name: 'Quiet', chainId: 5_001, upstreams: [{ name: 'node', url: honest.url }] },
    ...networks,
  };
  for (const [slug, file] of Object.entries(files)) {
    writeFileSync(join(folder, 'networks', `${slug}.yaml`), JSON.stringify(file));
  }
  const opsPort = await freePort();
  const child = spawn(process.execPath, [join(packageRoot, 'dist/test/fuzz/gateway-program.js'), 'start'], {
    cwd: folder,
    env: {
      ...{ PATH: process.env['PATH'], PORT: '0', OPS_PORT: String(opsPort), ADMIN_TOKEN, FUZZ_BLOCKS: blocks },
      ...{ UPSTREAM_TIMEOUT_MS: '2000', CALL_TIMEOUT_MS: '6000', LOG_LEVEL: 'warn' },
      ...(plant !== undefined && { FUZZ_PLANT: plant }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const ends = { isEnded: false, isStopping: false };
  const ended = once(child, 'exit').then(() => (ends.isEnded = true));
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-50_000)));
  }
  const kill = async (): Promise<void> => {
    if (!ends.isEnded) child.kill('SIGKILL');
    await ended;
    await honest.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const startedAt = clock.now();
  let address: string | undefined;
  while (address === undefined || !output.includes('\nKeys: ')) {
    if (ends.isEnded || clock.now() - startedAt > START_MS) {
      await kill();
      throw new Error(`the gateway did not start:\n${output}`);
    }
    await scenarioPause(50);
    address = /^Gatehouse \S+ listens on (\S+)$/m.exec(output)?.[1]?.replace('0.0.0.0', '127.0.0.1');
  }
  /** Blocks of the event loop count from here: the gateway has no caller before. */
  const readyAt = Date.now();
  const port = Number(new URL(address).port);
  const key = await createKey(opsPort);
  const neighbour = openNeighbour(port, `/quiet/v3/${await createKey(opsPort)}`);
  let [calls, worstMs, peakBytes, worstBlockMs, readBlocks] = [0, 0, 0, 0, 0];
  const findings: string[] = [];
  const hasStopped = (): boolean => ends.isStopping;
  const watch = async (): Promise<void> => {
    while (!ends.isEnded) {
      const measurement = await neighbour.measure(1_000, undefined, NEIGHBOUR_PAUSE_MS);
      if (hasStopped()) return;
      calls += measurement.requests;
      worstMs = Math.max(worstMs, Number.isNaN(measurement.worstMs) ? 0 : measurement.worstMs);
      findings.push(...measurement.rejected.map((text) => `a call of the neighbour failed: ${text}`));
    }
  };
  const watched = watch();

  return {
    ...{ port, address, key, secrets: [key, packageRoot, folder, ADMIN_TOKEN] },
    takeFindings() {
      const bytes = peakMemoryOf(child.pid ?? 0);
      if (bytes > bounds.memoryBytes && peakBytes <= bounds.memoryBytes) {
        findings.push(`the process uses ${Math.round(bytes / 2 ** 20)} MB`);
      }
      peakBytes = Math.max(peakBytes, bytes);
      const lines = existsSync(blocks) ? readFileSync(blocks, 'utf8').trim().split('\n') : [];
      for (const line of lines.slice(readBlocks)) {
        const [at, wholeMs] = line.split(' ').map(Number) as [number, number];
        const ms = Math.min(wholeMs, Math.max(0, at - readyAt));
        worstBlockMs = Math.max(worstBlockMs, ms);
        if (ms > bounds.blockMs)
          findings.push(`the event loop was blocked for ${ms} ms at ${new Date(at).toISOString()}`);
      }
      readBlocks = lines.length;
      if (ends.isEnded) findings.push(`the process has ended:\n${output.slice(-2_000)}`);
      if (output.includes('internal error')) findings.push(`an unforeseen error: ${logOf(output)}`);
      output = '';
      return findings.splice(0);
    },
    figures: () =>
      `memory ${Math.round(peakBytes / 2 ** 20)} MB, longest block ${worstBlockMs} ms, ` +
      `${calls} calls of the neighbour, worst ${Math.round(worstMs)} ms`,
    async stop() {
      ends.isStopping = true;
      await kill();
      await watched;
      neighbour.close();
    },
  };
}

function logOf(output: string): string {
  return output
    .split('\n')
    .filter((line) => line.includes('internal error'))
    .join('\n')
    .slice(0, 1_000);
}

async function createKey(opsPort: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${opsPort}/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'caller', permissions: {} }),
  });
  const { key } = (await response.json()) as { key?: string };
  if (key === undefined) throw new Error(`the admin API returned ${response.status}`);
  return key;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Linux records the peak itself. NaN elsewhere, or after the end. */
function peakMemoryOf(pid: number): number {
  const file = `/proc/${pid}/status`;
  const status = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}
