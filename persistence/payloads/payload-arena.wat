;; Gathers payloads of kind `bytes` that are in memory. The memory is laid out by `payload-arena.ts`.
;;
;;   segment body    | offset: u32, rows + 1 of them, the first is 0 | payloads |
;;   segment table   | first row: u64 | rows: u32 | address of the body, 0 if it is not here: u32 | when it was last used: u32 | 0: u32 |
;;                   in the order of their rows; 24 bytes an entry
(module
  (import "host" "memory" (memory 1))

  ;; Finds the payload of each row: its address and its length; 0 and 0 for rows that are left out, 1 and 0 for those whose segment
  ;; is not here.
  ;;   rows      row i is the u64 at rows + i * stride
  ;;   present   a bitmap of the rows that count; 0 where all do
  ;; Returns how many are not here.
  (func (export "locate")
    (param $rows i32) (param $stride i32) (param $count i32) (param $present i32)
    (param $table i32) (param $segments i32) (param $now i32)
    (param $addresses i32) (param $lengths i32)
    (result i32)
    (local $i i32) (local $low i32) (local $high i32) (local $middle i32)
    (local $entry i32) (local $body i32) (local $offset i32) (local $start i32)
    (local $address i32) (local $length i32) (local $absent i32)
    (local $row i64) (local $place i64)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (local.set $address (i32.const 0))
        (local.set $length (i32.const 0))
        (block $settled
          (if (local.get $present)
            (then
              (br_if $settled
                (i32.eqz
                  (i32.and
                    (i32.shr_u
                      (i32.load8_u (i32.add (local.get $present) (i32.shr_u (local.get $i) (i32.const 3))))
                      (i32.and (local.get $i) (i32.const 7)))
                    (i32.const 1))))))
          (local.set $row
            (i64.load (i32.add (local.get $rows) (i32.mul (local.get $i) (local.get $stride)))))
          (block $missing
            (block $found
              ;; Neighbouring rows are often asked for together.
              (if (local.get $entry)
                (then
                  (local.set $place (i64.sub (local.get $row) (i64.load (local.get $entry))))
                  (br_if $found (i64.lt_u (local.get $place) (i64.load32_u offset=8 (local.get $entry))))))
              (local.set $low (i32.const 0))
              (local.set $high (local.get $segments))
              (block $searched
                (loop $halve
                  (br_if $searched (i32.ge_u (local.get $low) (local.get $high)))
                  (local.set $middle (i32.shr_u (i32.add (local.get $low) (local.get $high)) (i32.const 1)))
                  (if
                    (i64.le_u
                      (i64.load (i32.add (local.get $table) (i32.mul (local.get $middle) (i32.const 24))))
                      (local.get $row))
                    (then (local.set $low (i32.add (local.get $middle) (i32.const 1))))
                    (else (local.set $high (local.get $middle))))
                  (br $halve)))
              (br_if $missing (i32.eqz (local.get $low)))
              (local.set $entry
                (i32.add
                  (local.get $table)
                  (i32.mul (i32.sub (local.get $low) (i32.const 1)) (i32.const 24))))
              (local.set $place (i64.sub (local.get $row) (i64.load (local.get $entry))))
              (br_if $missing (i64.ge_u (local.get $place) (i64.load32_u offset=8 (local.get $entry)))))
            (local.set $body (i32.load offset=12 (local.get $entry)))
            (br_if $missing (i32.eqz (local.get $body)))
            (i32.store offset=16 (local.get $entry) (local.get $now))
            (local.set $offset
              (i32.add (local.get $body) (i32.shl (i32.wrap_i64 (local.get $place)) (i32.const 2))))
            (local.set $start (i32.load (local.get $offset)))
            (local.set $address
              (i32.add
                (i32.add
                  (local.get $body)
                  (i32.shl (i32.add (i32.load offset=8 (local.get $entry)) (i32.const 1)) (i32.const 2)))
                (local.get $start)))
            (local.set $length (i32.sub (i32.load offset=4 (local.get $offset)) (local.get $start)))
            (br $settled))
          (local.set $address (i32.const 1))
          (local.set $absent (i32.add (local.get $absent) (i32.const 1))))
        (i32.store
          (i32.add (local.get $addresses) (i32.shl (local.get $i) (i32.const 2)))
          (local.get $address))
        (i32.store
          (i32.add (local.get $lengths) (i32.shl (local.get $i) (i32.const 2)))
          (local.get $length))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $absent))

  ;; Copies payloads `first` to `count` - 1 to `target`, one behind the other, as many as `room` bytes hold.
  ;; Returns the number of the first one that was not copied.
  (func (export "copy")
    (param $addresses i32) (param $lengths i32) (param $first i32) (param $count i32)
    (param $target i32) (param $room i32)
    (result i32)
    (local $from i32) (local $length i32) (local $end i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $first) (local.get $count)))
        (local.set $length (i32.load (i32.add (local.get $lengths) (i32.shl (local.get $first) (i32.const 2)))))
        (br_if $done (i32.gt_u (local.get $length) (local.get $room)))
        (local.set $room (i32.sub (local.get $room) (local.get $length)))
        (local.set $from (i32.load (i32.add (local.get $addresses) (i32.shl (local.get $first) (i32.const 2)))))
        (if (i32.gt_u (local.get $length) (i32.const 64))
          (then
            (memory.copy (local.get $target) (local.get $from) (local.get $length))
            (local.set $target (i32.add (local.get $target) (local.get $length))))
          (else
            ;; A call of memory.copy costs more than a few words.
            (local.set $end (i32.add (local.get $target) (local.get $length)))
            (block $words
              (loop $word
                (br_if $words (i32.gt_u (i32.add (local.get $target) (i32.const 8)) (local.get $end)))
                (i64.store (local.get $target) (i64.load (local.get $from)))
                (local.set $target (i32.add (local.get $target) (i32.const 8)))
                (local.set $from (i32.add (local.get $from) (i32.const 8)))
                (br $word)))
            (block $bytes
              (loop $byte
                (br_if $bytes (i32.ge_u (local.get $target) (local.get $end)))
                (i32.store8 (local.get $target) (i32.load8_u (local.get $from)))
                (local.set $target (i32.add (local.get $target) (i32.const 1)))
                (local.set $from (i32.add (local.get $from) (i32.const 1)))
                (br $byte)))))
        (local.set $first (i32.add (local.get $first) (i32.const 1)))
        (br $next)))
    (local.get $first)))
