import { unreachable } from '../../redis/link.ts';
import { KeyStoreUnreachable } from './key-store.ts';

/** Makes the error of a key or usage store whose Redis did not respond or rejected the command. */
export function storeUnreachable(cause: unknown): KeyStoreUnreachable {
  const { message, code } = unreachable(cause);
  return new KeyStoreUnreachable(message, code);
}
