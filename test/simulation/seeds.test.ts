import { testSeeds } from './seeds.ts';

testSeeds([1, 2, 3]);
