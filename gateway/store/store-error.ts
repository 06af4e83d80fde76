import { isRedisError, redisErrorCode } from '../redis/link.ts';

/** The store cannot do an operation. The message is for operators: no URL, no secret. */
export class StoreError extends Error {}

/** The store cannot be changed at the moment: its disk is full. */
export class StoreFull extends StoreError {
  override readonly name = 'StoreFull';
}

/** The store did not respond. */
export class StoreUnreachable extends StoreError {
  override readonly name = 'StoreUnreachable';
  /** Error code of the operating system (`ECONNREFUSED`) or of Redis (`WRONGPASS`). */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The error of a store whose Redis did not respond or rejected the command. */
export function storeUnreachable(cause: unknown): StoreUnreachable {
  const code = redisErrorCode(cause);
  const failed = isRedisError(cause) ? 'Redis rejects the connection' : 'Redis is unreachable';
  const message =
    code === 'NOPERM'
      ? `Redis rejects a command (${code}): its user lacks a right, see docs/scaling.md, section Redis`
      : `${failed} (${code}): check REDIS_URL`;
  return new StoreUnreachable(message, code);
}
