import { isServerFault, reasons } from '../jsonrpc/errors.ts';

/** Class of the end of a call, for its caller: `failed` by Gatehouse or all upstreams, `rejected` for what the caller or its key did. */
export type OutcomeClass = 'served' | 'upstream-error' | 'rejected' | 'failed';

/** Outcomes of a call whose caller got a result, or does not wait for one. */
export const servedOutcomes: readonly string[] = ['result', 'null', 'notification', 'revert', 'caller-left'];

/** Outcomes of a call, or of a request that was rejected before its calls were read. */
export const outcomes: readonly string[] = [...servedOutcomes, 'upstream-error', 'incomplete', ...reasons];

/** @param outcome a label of `gatehouse_calls_total` */
export function outcomeClassOf(outcome: string): OutcomeClass {
  if (servedOutcomes.includes(outcome)) return 'served';
  if (outcome === 'upstream-error') return 'upstream-error';
  return outcome === 'incomplete' || isServerFault(outcome) ? 'failed' : 'rejected';
}
