import type { KeptReply } from './cache/answer-cache.ts';
import { textOf, type Call, type NotACall } from './jsonrpc/envelope.ts';
import type { ServedMethod, ServedNetwork } from './served-network.ts';
import { slices } from './slices.ts';
import type { Reply } from './upstream/reply.ts';

type Answering = Promise<Reply | KeptReply> | KeptReply;

/** Calls that stand in a batch more than once: upstreams are asked once, and each is answered under its own id. */
export class RepeatedCalls {
  readonly #replies: Map<string, Answering | undefined>;

  private constructor(replies: Map<string, Answering | undefined>) {
    this.#replies = replies;
  }

  /** Undefined: there are none. */
  static async among(
    items: readonly (Call | NotACall)[],
    { methods }: Pick<ServedNetwork, 'methods'>,
  ): Promise<RepeatedCalls | undefined> {
    if (items.length < 2) return undefined;
    const seen = new Set<string>();
    const repeated = new Map<string, undefined>();
    for (const item of items) {
      const pause = slices.next();
      if (pause !== undefined) await pause;
      const method = 'refusal' in item ? undefined : methods.get(item.method);
      if (method?.isShared !== true) continue;
      const name = nameOf(method, item as Call);
      if (seen.has(name)) repeated.set(name, undefined);
      else seen.add(name);
    }
    return repeated.size === 0 ? undefined : new RepeatedCalls(repeated);
  }

  /** The reply to a call: that to the first of its kind. */
  reply(method: ServedMethod, call: Call, ask: () => Answering): Answering {
    if (!method.isShared) return ask();
    const name = nameOf(method, call);
    const known = this.#replies.get(name);
    if (known !== undefined || !this.#replies.has(name)) return known ?? ask();
    const reply = ask();
    this.#replies.set(name, reply);
    return reply;
  }
}

function nameOf({ spec: { name } }: ServedMethod, call: Call): string {
  return name + textOf(call);
}
