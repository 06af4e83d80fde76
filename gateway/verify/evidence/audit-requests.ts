import { isObject, type JsonObject } from '../../collections/is-object.ts';
import { parseHeader, type Header } from '../../chain/header.ts';
import { clock } from '../../clock/clock.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { PermittedUpstreams } from '../../routing-policy/permitted-upstreams.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { methods, nodeMethods } from '../../spec/methods.generated.ts';
import { normalise } from '../../normalise/normalise.ts';
import { Cancellation, Cancelled } from '../../upstreams/transport/cancellation.ts';
import { parseResponse, UpstreamFailure, type UpstreamResponse } from '../../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import { isComparable, type ComparedResponse } from './compare-responses.ts';

/** Parsing and comparing a larger result would block the event loop for too long. */
const MAX_COMPARED_BYTES = 250_000;

const specs = new Map(methods.map((spec) => [spec.name, spec]));
const blockByNumber = specs.get(nodeMethods.blockByNumber) as MethodSpec;
const logs = specs.get(nodeMethods.logs) as MethodSpec;
const uncle = specs.get(nodeMethods.uncle) as MethodSpec;

/**
 * Sends the requests of audits, and those for evidence that one upstream must have. They count towards the limits of an upstream, and for nothing else: neither its circuit, nor
 * its heads, latency or metrics depend on them.
 */
export class AuditRequests {
  readonly #permitted: PermittedUpstreams<Upstream>;
  readonly #all: readonly Upstream[];
  readonly #cancellation = new Cancellation();
  #turn = 0;

  /** @param all upstreams of the network */
  constructor(all: readonly Upstream[], permitted: PermittedUpstreams<Upstream>) {
    this.#all = all;
    this.#permitted = permitted;
  }

  /** The other upstreams that may get the call now, each first in turn. @param first undefined: all upstreams are others */
  others(first: Upstream | undefined, method = blockByNumber): Upstream[] {
    const usable = this.#all.filter((one) => one !== first && this.#canSend(one, method.name));
    const start = usable.length === 0 ? 0 : this.#turn++ % usable.length;
    return [...usable.slice(start), ...usable.slice(0, start)];
  }

  /** @returns undefined if the upstream may not get the call now, or if its response cannot be compared */
  async send(
    upstream: Upstream,
    method: MethodSpec,
    params: readonly unknown[],
    deadline: number,
  ): Promise<ComparedResponse | undefined> {
    if (!this.#canSend(upstream, method.name) || deadline <= clock.now()) return undefined;
    try {
      const until = Math.min(deadline, clock.now() + upstream.timeoutMs);
      const text = JSON.stringify(params);
      return toComparable(method, params, await upstream.exchangeOwn(method.name, text, until, this.#cancellation));
    } catch (error) {
      if (error instanceof UpstreamFailure || error instanceof Cancelled || error instanceof RpcError) return undefined;
      throw error;
    }
  }

  /** The hash of an upstream's block of this number; undefined if it has none. */
  async blockHash(upstream: Upstream, number: bigint, deadline: number): Promise<string | undefined> {
    return (await this.headerAt(upstream, `0x${number.toString(16)}`, deadline))?.hash;
  }

  /** The header of an upstream's block of a number or tag; undefined if it has none. */
  async headerAt(upstream: Upstream, named: string, deadline: number): Promise<Header | undefined> {
    if (!this.#permitted.sourcesOf(blockByNumber.name).includes(upstream)) return undefined;
    const response = await this.send(upstream, blockByNumber, [named, false], deadline);
    return response?.kind === 'result' ? parseHeader(response.result) : undefined;
  }

  /** An uncle that an upstream returns. Undefined: it returns none. @param params the hash of the block, and the place */
  async uncle(upstream: Upstream, params: readonly unknown[], deadline: number): Promise<JsonObject | undefined> {
    const response = await this.send(upstream, uncle, params, deadline);
    return response?.kind === 'result' && isObject(response.result) ? response.result : undefined;
  }

  /** The logs that an upstream returns for a filter. Undefined: it returns none. */
  async logs(upstream: Upstream, filter: object, deadline: number): Promise<readonly unknown[] | undefined> {
    const response = await this.send(upstream, logs, [filter], deadline);
    return response?.kind === 'result' && Array.isArray(response.result) ? response.result : undefined;
  }

  /** Cancels all requests in progress. */
  close(): void {
    this.#cancellation.cancel();
  }

  #canSend(upstream: Upstream, name: string): boolean {
    const { config, circuit, isOnOtherChain, drain, limits, methods } = upstream;
    if (drain !== undefined) return false;
    if (config.audit === 'off' || config.probe === 'off' || !circuit.isClosed || isOnOtherChain) return false;
    if (methods.isSkipped(name) || this.#permitted.candidatesOf(name)?.includes(upstream) === false) return false;
    return limits?.hasCapacity() !== false;
  }
}

/** Parses and normalises a response. Undefined: it cannot be compared. */
export function toComparable(
  method: MethodSpec,
  params: readonly unknown[],
  response: UpstreamResponse,
): ComparedResponse | undefined {
  if (response.kind === 'large' && response.parts.reduce((sum, { length }) => sum + length, 0) > MAX_COMPARED_BYTES)
    return undefined;
  try {
    const outcome = normalise(method, params, parseResponse(response));
    if (!outcome.final || outcome.response.kind === 'large') return undefined;
    return isComparable(outcome.response) ? outcome.response : undefined;
  } catch (error) {
    if (error instanceof UpstreamFailure) return undefined;
    throw error;
  }
}
