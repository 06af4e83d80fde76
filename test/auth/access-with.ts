import { PublicAccess } from '../../gateway/auth/public-access.ts';
import { configOf } from '../network-files/load.ts';

/** What callers without a key have on a network with these options. */
export function accessWith(options: object): PublicAccess {
  const config = configOf('main', { public: options });
  if (config.public === undefined) throw new Error('no options');
  return new PublicAccess(config, config.public);
}
