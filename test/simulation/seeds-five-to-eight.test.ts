import { testSeeds } from './seeds.ts';

testSeeds([5, 6, 7, 8]);
