import { eventually } from '../auth/eventually.ts';
import type { FakeNode } from './fake-node.ts';

/** Callers that ask one call after the other, each for something that nobody else asks for. */
export interface Load {
  /** Waits until so many more calls were answered. */
  more(count: number): Promise<void>;
  /** What the nodes received, in the order of their arrival. */
  received(): string[];
  /** Lets calls under way end. `wrong` says what came in place of the right answer. */
  stop(): Promise<{ sent: string[]; wrong: string[] }>;
}

/**
 * Asks for storage words that are as the positions asked for, until it is told to stop.
 * @param nodes which may be asked: they answer so from now on
 * @param url of a network, with a key
 */
export function startLoad(nodes: FakeNode | readonly FakeNode[], url: string, callers: number): Load {
  const all = [nodes].flat();
  for (const node of all) node.response('eth_getStorageAt', (params: unknown) => wordAt(params));
  const sent: string[] = [];
  const wrong: string[] = [];
  let answered = 0;
  let isOver = false;

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
    answered++;
  }
  const working = Array.from({ length: callers }, async () => {
    while (!isOver) await call();
  });

  return {
    async more(count) {
      const enough = answered + count;
      await eventually(() => answered >= enough, 20_000);
    },
    received: () =>
      all.flatMap((node) => node.callsOf('eth_getStorageAt')).map(({ params }) => (params as string[])[1] ?? ''),
    async stop() {
      isOver = true;
      await Promise.all(working);
      return { sent, wrong };
    },
  };
}

/** The position that is asked for, as a word. */
function wordAt(params: unknown): string {
  const position = (params as string[])[1] ?? '';
  return `0x${position.slice(2).padStart(64, '0')}`;
}
