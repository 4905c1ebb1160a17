import type { Compound, Equal, IndexRange, Informer, Ordered, Scalar, Status } from 'listwatch'
export declare function useObject<T>(informer: Informer<T, object>, key: string | undefined): T | undefined
export declare function useObjects<T, V extends Scalar>(index: Ordered<T, V>, range?: IndexRange<NoInfer<V>> & {
    readonly prefix?: NoInfer<V> & string }): readonly T[]
export declare function useObjects<T, V extends readonly Scalar[],
    const P extends Partial<NoInfer<V>> & readonly unknown[]>(index: Compound<T, V>, prefix: P,
    range?: IndexRange<NoInfer<V[P['length']]>>): readonly T[]
export declare function useObjects<T, V extends Scalar>(index: Equal<T, V>, value: NoInfer<V>): readonly T[]
export declare function useObjects<T>(informer: Informer<T, object>): readonly T[]
export declare function useStatus<T>(informer: Informer<T, object>): Status
