import { RpcError } from '../jsonrpc/errors.ts';
import type { Reply } from '../upstream/reply.ts';
import { within } from '../upstream/within.ts';

/** Calls of one network that are under way: who asks the same meanwhile waits for the same reply. */
export class SharedCalls {
  readonly #underWay = new Map<string, Promise<Reply>>();

  /**
   * @param key method and parameters
   * @param deadline of this asker, on the clock of performance.now(); the reply is awaited no longer
   * @throws RpcError
   */
  ask(key: string, deadline: number, ask: () => Promise<Reply>): Promise<Reply> {
    const shared = this.#underWay.get(key);
    if (shared !== undefined) return within(shared, deadline - performance.now(), () => new RpcError('no-upstream'));
    const own = ask().finally(() => {
      this.#underWay.delete(key);
    });
    this.#underWay.set(key, own);
    return own;
  }
}
