/**
 * Whether bytes and requests are bounded by what is counted of them. `npm run test:all -- abuse` replaces this module in a second
 * pass, in which `MemoryGuard` and `TurnBudget` alone must hold. No setting changes it.
 */
export const areBoundsCounted: boolean = true;
