import { eventually } from './eventually.ts';
import type { FakeNode } from './fake-node.ts';

/** Clients that each send one call after the other. Every call differs from all others. */
export interface Load {
  /** Waits until this many further calls have ended. */
  more(count: number): Promise<void>;
  /** The storage positions in the calls that the nodes received, per node in order of arrival. */
  received(): string[];
  /** Waits for the calls in progress. `wrong` describes each missing or wrong response. */
  stop(): Promise<{ sent: string[]; wrong: string[] }>;
}

/**
 * Starts clients that read storage words, whose values equal their positions, until `stop()`.
 * @param nodes get this response for `eth_getStorageAt`
 * @param url of a network, with a key
 */
export function startLoad(nodes: FakeNode | readonly FakeNode[], url: string, callers: number): Load {
  const all = [nodes].flat();
  for (const node of all) node.response('eth_getStorageAt', (params: unknown) => wordAt(params));
  const sent: string[] = [];
  const wrong: string[] = [];
  let ended = 0;
  let isStopped = false;

  async function call(): Promise<void> {
    const position = `0x${(sent.length + 1).toString(16)}`;
    sent.push(position);
    const params = ['0x1212121212121212121212121212121212121212', position, 'latest'];
    const body = JSON.stringify({ jsonrpc: '2.0', id: position, method: 'eth_getStorageAt', params });
    const expected = JSON.stringify({ jsonrpc: '2.0', id: position, result: wordAt(params) });
    try {
      const response = await fetch(url, { method: 'POST', body });
      const text = await response.text();
      if (text !== expected) wrong.push(`${position}: ${response.status} ${text.slice(0, 200)}`);
    } catch (error) {
      wrong.push(`${position}: ${String(error)} ${String((error as Error).cause)}`);
    }
    ended++;
  }
  const running = Array.from({ length: callers }, async () => {
    while (!isStopped) await call();
  });

  return {
    async more(count) {
      const target = ended + count;
      await eventually(() => ended >= target, 20_000);
    },
    received: () =>
      all.flatMap((node) => node.callsOf('eth_getStorageAt')).map(({ params }) => (params as string[])[1] ?? ''),
    async stop() {
      isStopped = true;
      await Promise.all(running);
      return { sent, wrong };
    },
  };
}

/** The position in the parameters, padded to 32 bytes. */
function wordAt(params: unknown): string {
  const position = (params as string[])[1] ?? '';
  return `0x${position.slice(2).padStart(64, '0')}`;
}
