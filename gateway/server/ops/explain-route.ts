import { clock } from '../../clock/clock.ts';
import type { CallContext } from '../../call/call.ts';
import { openVerification } from '../../call/verification.ts';
import type { BatchLimits } from '../../call/handle-batch.ts';
import { handleBody } from '../../call/handle-body.ts';
import { bodyRejectionResponse, type RpcResponse } from '../../jsonrpc/response.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { compileAccess } from '../../auth/key-access.ts';
import type { RpcRouteOptions } from '../http/request-options.ts';
import { Cancellation } from '../../upstreams/transport/cancellation.ts';
import { Explanation } from '../../observability/explanation.ts';

export type ExplainOptions = Pick<
  RpcRouteOptions,
  'networks' | 'limiter' | 'log' | 'callTimeoutMs' | 'batch' | 'nextRequestId'
>;

export interface ExplainedResponse {
  /** The response for a key without restrictions; null if the body has only notifications. */
  readonly answer: unknown;
  readonly explanation: Explanation;
}

/** Operators need no key. Their calls are counted in usage under this id. */
const operator = compileAccess({ id: 'operator', name: 'operator', createdAt: '' });

/**
 * Handles calls on a network, and explains how each got its response.
 * @param slug of the network
 * @param body a call or a list of calls; an invalid one gets an error response
 * @returns undefined if there is no such network
 */
export type ExplainCalls = (slug: string, body: unknown) => Promise<ExplainedResponse | undefined>;

export function explainCalls(options: ExplainOptions): ExplainCalls {
  const { networks, limiter, log, callTimeoutMs, batch, nextRequestId } = options;
  return async (slug, body) => {
    const network = networks.get(slug);
    if (network === undefined) return undefined;
    network.use.begin();
    try {
      const explanation = new Explanation(network, true);
      const context = {
        ...{ network, limiter, log, access: operator, printers: [explanation], requestId: nextRequestId() },
        isOperator: true as const,
        verification: openVerification(network, operator, undefined),
        ...{ deadline: clock.now() + callTimeoutMs, caller: new Cancellation() },
      };
      const rpcResponse = await responseTo(Buffer.from(JSON.stringify(body)), context, batch);
      await explanation.whenAudited();
      return {
        answer: rpcResponse === undefined ? null : (JSON.parse(rpcResponse.body.toString()) as unknown),
        explanation,
      };
    } finally {
      network.use.end();
    }
  };
}

async function responseTo(body: Buffer, context: CallContext, batch: BatchLimits): Promise<RpcResponse | undefined> {
  try {
    return await handleBody(body, context, batch);
  } catch (error) {
    if (error instanceof RpcError) return bodyRejectionResponse(error);
    throw error;
  }
}
