import { RpcError } from '../../jsonrpc/errors.ts';

/** Longest accepted token. Node limits all headers of a request to 16 kB. */
const TOKEN_MAX_LENGTH = 8_192;

/** The subprotocol that names a token in the next item of `Sec-WebSocket-Protocol`, because browsers set no other header. */
const TOKEN_PROTOCOL = 'gatehouse.jwt';

/** Whether a text has the form of a signed token: three parts of base64url. No key has it. */
export function isToken(text: string): boolean {
  return text.length <= TOKEN_MAX_LENGTH && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);
}

/** @param header `Sec-WebSocket-Protocol` @returns undefined if it offers no token; '' if the token is missing */
export function tokenInProtocols(header: string | undefined): string | undefined {
  const [protocol, token = ''] = (header ?? '').split(',').map((item) => item.trim());
  return protocol === TOKEN_PROTOCOL ? token : undefined;
}

/** The rejection of a token. @param why what follows `invalid token: ` */
export function invalidToken(why: string): RpcError {
  return new RpcError('token-invalid', `invalid token: ${why}`);
}
