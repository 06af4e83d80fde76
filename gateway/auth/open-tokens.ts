import type { Log } from '../config/log.ts';
import { itemsIn } from '../config/parse-setting.ts';
import type { Settings } from '../config/settings.ts';
import type { KeyPlaces } from './sent-key.ts';
import { keysAtUrl, keysInFile } from './tokens/issuer-keys.ts';
import { readPlans } from './tokens/plans.ts';
import type { TokenOptions } from './token-authenticator.ts';

/** @returns undefined if the settings name no key set @throws SettingsError or NetworkFilesError (rejects with it) for a file that cannot be used */
export async function openTokens(settings: Settings, log: Log): Promise<TokenOptions | undefined> {
  const { AUTH_JWKS_URL: url, AUTH_JWKS_FILE: file, AUTH_ISSUER: issuer = '', AUTH_AUDIENCE: audience = '' } = settings;
  if (url === undefined && file === undefined) return undefined;
  const plans = readPlans(settings.AUTH_PLANS_FILE);
  return {
    keys: url === undefined ? await keysInFile(file ?? '', log) : keysAtUrl(url, settings.KEY_STALE_MAX_S, log),
    issuer,
    audience,
    algorithms: itemsIn(settings.AUTH_ALGORITHMS),
    clockToleranceS: settings.AUTH_CLOCK_TOLERANCE_S,
    claim: settings.AUTH_CLAIM,
    plans,
    log,
  };
}

/** Where requests may have a key or token. @returns undefined if only the path may */
export function keyPlacesOf(settings: Settings): KeyPlaces | undefined {
  const keyHeaders = settings.KEY_HEADERS === 'on';
  const tokens = settings.AUTH_JWKS_URL !== undefined || settings.AUTH_JWKS_FILE !== undefined;
  return keyHeaders || tokens ? { keyHeaders, tokens, tokensInPath: settings.AUTH_TOKENS_IN_PATH === 'on' } : undefined;
}
