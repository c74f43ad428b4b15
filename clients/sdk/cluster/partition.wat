;; Cuts columns of keys by ranges, and puts values that come back in the places of their keys. The memory is laid out by `partition.ts`.
;;
;;   shuffles of four   | for each of 16 masks the bytes of the lanes of 32 bits that are set, the first ones first: 16 bytes |
;;   shuffles of two    | the same for 4 masks and lanes of 64 bits |
;;   columns            keys, values, and numbers of items: u32
(module
  (memory (export "memory") 1)

  ;; Copies the keys from `low` on, and before `high` if there is one, and the numbers of their items. Keys are compared as unsigned once
  ;; they are `flip`ped by an exclusive or. Room for 16 bytes is behind each column.
  ;;   bounded   -1 where there is a `high`, else 0
  ;; Returns how many there are.
  (func (export "partition4")
    (param $keys i32) (param $count i32) (param $flip i32) (param $low i32) (param $high i32) (param $bounded i32)
    (param $outKeys i32) (param $outNumbers i32)
    (result i32)
    (local $i i32) (local $found i32) (local $mask i32)
    (local $own v128) (local $compared v128) (local $numbers v128) (local $shuffle v128)
    (local.set $numbers (v128.const i32x4 0 1 2 3))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (local.set $own (v128.load (i32.add (local.get $keys) (i32.shl (local.get $i) (i32.const 2)))))
        (local.set $compared (v128.xor (local.get $own) (i32x4.splat (local.get $flip))))
        (local.set $mask
          (i32x4.bitmask
            (v128.andnot
              (i32x4.ge_u (local.get $compared) (i32x4.splat (local.get $low)))
              (v128.and
                (i32x4.ge_u (local.get $compared) (i32x4.splat (local.get $high)))
                (i32x4.splat (local.get $bounded))))))
        (if (i32.lt_u (i32.sub (local.get $count) (local.get $i)) (i32.const 4))
          (then
            (local.set $mask
              (i32.and
                (local.get $mask)
                (i32.sub (i32.shl (i32.const 1) (i32.sub (local.get $count) (local.get $i))) (i32.const 1))))))
        (local.set $shuffle (v128.load (i32.shl (local.get $mask) (i32.const 4))))
        (v128.store
          (i32.add (local.get $outKeys) (i32.shl (local.get $found) (i32.const 2)))
          (i8x16.swizzle (local.get $own) (local.get $shuffle)))
        (v128.store
          (i32.add (local.get $outNumbers) (i32.shl (local.get $found) (i32.const 2)))
          (i8x16.swizzle (local.get $numbers) (local.get $shuffle)))
        (local.set $found (i32.add (local.get $found) (i32.popcnt (local.get $mask))))
        (local.set $numbers (i32x4.add (local.get $numbers) (v128.const i32x4 4 4 4 4)))
        (local.set $i (i32.add (local.get $i) (i32.const 4)))
        (br $next)))
    (local.get $found))

  ;; The same of keys of 64 bits, which are compared as signed once they are flipped.
  (func (export "partition8")
    (param $keys i32) (param $count i32) (param $flip i64) (param $low i64) (param $high i64) (param $bounded i64)
    (param $outKeys i32) (param $outNumbers i32)
    (result i32)
    (local $i i32) (local $found i32) (local $mask i32)
    (local $own v128) (local $compared v128) (local $numbers v128)
    (local.set $numbers (v128.const i32x4 0 1 0 0))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (local.set $own (v128.load (i32.add (local.get $keys) (i32.shl (local.get $i) (i32.const 3)))))
        (local.set $compared (v128.xor (local.get $own) (i64x2.splat (local.get $flip))))
        (local.set $mask
          (i64x2.bitmask
            (v128.andnot
              (i64x2.ge_s (local.get $compared) (i64x2.splat (local.get $low)))
              (v128.and
                (i64x2.ge_s (local.get $compared) (i64x2.splat (local.get $high)))
                (i64x2.splat (local.get $bounded))))))
        (if (i32.eq (i32.sub (local.get $count) (local.get $i)) (i32.const 1))
          (then (local.set $mask (i32.and (local.get $mask) (i32.const 1)))))
        (v128.store
          (i32.add (local.get $outKeys) (i32.shl (local.get $found) (i32.const 3)))
          (i8x16.swizzle
            (local.get $own)
            (v128.load (i32.add (i32.const 256) (i32.shl (local.get $mask) (i32.const 4))))))
        (v128.store
          (i32.add (local.get $outNumbers) (i32.shl (local.get $found) (i32.const 2)))
          (i8x16.swizzle (local.get $numbers) (v128.load (i32.shl (local.get $mask) (i32.const 4)))))
        (local.set $found (i32.add (local.get $found) (i32.popcnt (local.get $mask))))
        (local.set $numbers (i32x4.add (local.get $numbers) (v128.const i32x4 2 2 2 2)))
        (local.set $i (i32.add (local.get $i) (i32.const 2)))
        (br $next)))
    (local.get $found))

  ;; Puts values of 32 bits in the places of their items; those of number -1 are left out.
  (func (export "scatter4") (param $values i32) (param $numbers i32) (param $count i32) (param $all i32)
    (local $i i32) (local $number i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (local.set $number (i32.load (local.get $numbers)))
        (if (i32.ne (local.get $number) (i32.const -1))
          (then
            (i32.store
              (i32.add (local.get $all) (i32.shl (local.get $number) (i32.const 2)))
              (i32.load (local.get $values)))))
        (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
        (local.set $values (i32.add (local.get $values) (i32.const 4)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next))))

  ;; The same of 64 bits.
  (func (export "scatter8") (param $values i32) (param $numbers i32) (param $count i32) (param $all i32)
    (local $i i32) (local $number i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (local.set $number (i32.load (local.get $numbers)))
        (if (i32.ne (local.get $number) (i32.const -1))
          (then
            (i64.store
              (i32.add (local.get $all) (i32.shl (local.get $number) (i32.const 3)))
              (i64.load (local.get $values)))))
        (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
        (local.set $values (i32.add (local.get $values) (i32.const 8)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))))
