import { RpcError } from '../../jsonrpc/errors.ts';

/**
 * Why the gateway closes a socket: metric label, close code and close reason. Sockets without a code are destroyed,
 * because their clients would not read a close frame either. 1001, 1008, 1012, 1013: RFC 6455 §7.4, IANA's registry.
 */
export const closeReasons = {
  'key-missing': { code: 1008, text: 'project id required' },
  'key-invalid': { code: 1008, text: 'invalid project id' },
  'token-invalid': { code: 1008, text: 'invalid token' },
  'secret-invalid': { code: 1008, text: 'invalid project id or project secret' },
  'key-settings': { code: 1008, text: 'rejected due to project ID settings' },
  'key-store-unreachable': { code: 1013, text: 'the key cannot be checked at the moment' },
  stopping: { code: 1012, text: 'service restart' },
  'missed-blocks': { code: 1013, text: 'blocks were missed: subscribe again' },
  'other-chain': { code: 1013, text: 'an upstream is on another chain: subscribe again' },
  'ping-flood': { code: 1008, text: 'too many pings' },
  'memory-pressure': { code: 1013, text: 'the gateway is short of memory: connect again later' },
  'network-gone': { code: 1001, text: 'this network is not served any more' },
  'quota-used-up': { code: 1008, text: 'the quota of the project ID is used up' },
  'slow-reader': undefined,
  'slow-message': undefined,
  overloaded: undefined,
  silent: undefined,
} as const satisfies Record<string, { code: number; text: string } | undefined>;

export type CloseReason = keyof typeof closeReasons;

/** Close reasons for which calls in progress are completed first. */
export type DrainReason = 'stopping' | 'network-gone' | 'quota-used-up';

/** The close reason when a key or caller that was accepted before is rejected now. */
export function closeReasonFor(error: unknown): CloseReason {
  const reason = error instanceof RpcError ? error.reason : undefined;
  return reason === 'key-invalid' ||
    reason === 'token-invalid' ||
    reason === 'secret-invalid' ||
    reason === 'key-settings'
    ? reason
    : 'key-store-unreachable';
}

/** The metric label when an error of the client or its connection ended the socket. */
export function closeReasonOfError({ code }: NodeJS.ErrnoException): string {
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return 'message-too-large';
  return code?.startsWith('WS_ERR_') === true ? 'bad-frame' : 'caller';
}
