import type { CompleteResponse, NetworkResponse } from '../cache/response-cache.ts';
import { weaker, type Proof } from '../jsonrpc/proof.ts';
import type { CallRecord } from '../observability/call-record.ts';
import type { SentRange } from '../ranges/sent-range.ts';
import { canCoalesce } from '../spec/method-group.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import { complete } from '../upstreams/transport/flowing-result.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call, CallContext } from './call.ts';
import { ChargedParts } from './charge.ts';
import { forward } from './forward.ts';
import { usableForRange } from './select.ts';
import { nameOf, sendAlone, sendCoalesced } from './send.ts';

/** A call with a range of blocks, and the calls that are sent for it. Each of these rejects with RpcError or Cancelled. */
export class RangeCall {
  readonly call: Call;
  readonly context: CallContext;
  readonly charges: ChargedParts;
  /** The weakest proof of the parts that have arrived; undefined: none has. */
  proof: Proof | undefined;

  constructor(call: Call, context: CallContext) {
    this.call = call;
    this.context = context;
    this.charges = new ChargedParts(call, context);
  }

  /** The upstreams to which a call for these blocks can be sent now. */
  candidatesFor(lowest: number, highest: number): Upstream[] {
    return usableForRange(this.call.router, this.call.method, lowest, highest);
  }

  /** Sends the call as it is. @param range undefined: it has no known size */
  sendWhole(range: SentRange | undefined): Promise<NetworkResponse> {
    const { method, params, text, canFlow, record } = this.call;
    return this.#send(
      Object.assign(this.call.derive(method, params, text), { canFlow, range, record }),
      this.context.caller,
    );
  }

  /** @param text `params` as JSON text  @param range undefined: it has no known size */
  async sendPart(
    params: readonly unknown[],
    text: string,
    range: SentRange | undefined,
    cancellation: Cancellation,
    record: CallRecord | undefined,
  ): Promise<CompleteResponse> {
    const part = Object.assign(this.call.derive(this.call.method, params, text), { range, record });
    return complete(await this.#send(part, cancellation));
  }

  /** Requests a block that only divides the range: each part is proven. @param block a number or tag */
  async fetchBlock(blockByNumber: MethodSpec, block: string, cancellation: Cancellation): Promise<UpstreamResponse> {
    const fetch = this.call.derive(blockByNumber, [block, false]);
    return complete(await forward(Object.assign(fetch, { verification: undefined, cancellation })));
  }

  async #send(part: Call, caller: Cancellation): Promise<NetworkResponse> {
    if (!canCoalesce(this.call.method)) return sendAlone(part, caller);
    const name = `${part.method.name} ${nameOf(part)}`;
    const response = await sendCoalesced(part, name, this.context, caller, forward);
    if (part.verification !== undefined) this.proof = weaker(this.proof, complete(response).proof ?? 'no');
    return response;
  }
}
