import { RpcError } from '../../jsonrpc/errors.ts';

/**
 * Why we end a socket: the label of the metric, and what the caller is told. Those without a code are cut off, since
 * they would not read a close frame either. 1001, 1008, 1012, 1013: RFC 6455 §7.4 and IANA's registry.
 */
export const closeReasons = {
  'key-invalid': { code: 1008, text: 'invalid project id' },
  'secret-invalid': { code: 1008, text: 'invalid project id or project secret' },
  'key-settings': { code: 1008, text: 'rejected due to project ID settings' },
  'key-store-unreachable': { code: 1013, text: 'the key cannot be checked at the moment' },
  stopping: { code: 1012, text: 'service restart' },
  'missed-blocks': { code: 1013, text: 'blocks were missed: subscribe again' },
  'network-gone': { code: 1001, text: 'this network is not served any more' },
  'slow-reader': undefined,
  'slow-message': undefined,
  overloaded: undefined,
  silent: undefined,
} as const satisfies Record<string, { code: number; text: string } | undefined>;

export type CloseReason = keyof typeof closeReasons;

/** Of those, the ones that answer what came before. */
export type DrainReason = 'stopping' | 'network-gone';

/** Why a key that was let in before is not any more. */
export function closeReasonFor(error: unknown): CloseReason {
  const reason = error instanceof RpcError ? error.reason : undefined;
  return reason === 'key-invalid' || reason === 'secret-invalid' || reason === 'key-settings'
    ? reason
    : 'key-store-unreachable';
}

/** What a caller did that ended its socket: the label of the metric. */
export function closeReasonOfError({ code }: NodeJS.ErrnoException): string {
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return 'message-too-large';
  return code?.startsWith('WS_ERR_') === true ? 'bad-frame' : 'caller';
}
