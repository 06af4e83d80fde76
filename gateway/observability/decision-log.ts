import { clock } from '../clock/clock.ts';
import type { Log } from '../config/log.ts';
import type { RecordedAttempt, RecordPrinter, RecordWatcher } from './call-record.ts';

/** A longer name is not that of a method. */
const MAX_METHOD_LENGTH = 80;

/**
 * Logs each decision about the calls of one request, at the level debug.
 * @param key id of the key @returns undefined unless the level of the log is debug
 */
export function openDecisionLog(log: Log, requestId: string, key: string): RecordPrinter | undefined {
  if (!log.isLevelEnabled('debug')) return undefined;
  return {
    needsAllSkipReasons: true,
    watch: ({ method, network }) =>
      decisionsOf(log, { requestId, key, network, method: method.slice(0, MAX_METHOD_LENGTH) }),
    limited: (method, { reason, rule }, units) => {
      const fields = { requestId, key, method: method.slice(0, MAX_METHOD_LENGTH), outcome: reason, units };
      log.debug({ ...fields, rule: rule?.name }, 'call: rejected by a limit');
    },
  };
}

/** Logs the decisions about a call, or a part of its range. @param fields of each line */
function decisionsOf(log: Log, fields: object): RecordWatcher {
  const begin = clock.now();
  const write = (text: string, more: object): void => {
    log.debug({ ...fields, ...more }, `call: ${text}`);
  };
  const attemptFields = ({ upstream, isHedge }: RecordedAttempt) => ({ upstream, ...(isHedge && { hedge: true }) });
  return {
    cached: (cache) => {
      write('cache', { cache });
    },
    skipped: (upstream, reason) => {
      write('upstream skipped', { upstream, reason });
    },
    attempted: (attempt) => {
      write('attempt', attemptFields(attempt));
    },
    attemptEnded: (attempt) => {
      const { outcome, startedAt, endedAt = startedAt } = attempt;
      write('attempt ended', { ...attemptFields(attempt), outcome, ms: Math.round(endedAt - startedAt) });
    },
    budgetExceeded: (what) => {
      write('not sent again, the retry budget is used up', { what });
    },
    part: (from, to) => decisionsOf(log, { ...fields, from, to }),
    ended: ({ outcome, code, requestUnits: units }) => {
      write('ended', { outcome, code, units, ms: Math.round(clock.now() - begin) });
    },
  };
}
