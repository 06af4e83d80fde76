import type * as Jose from 'jose';
import { loadPackage } from '../../config/load-package.ts';

/** Verifies tokens. Most gateways have none. */
export const jose = (): typeof Jose => loadPackage('jose') as typeof Jose;
