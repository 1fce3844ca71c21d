/* Control registers, MSRs and CPUID bits that the tracing drivers use. */
#ifndef _X86_INCLUDE_SPECIALREG_H_
#define _X86_INCLUDE_SPECIALREG_H_

#define CR0_TS                  0x00000008
#define CR4_FXSR                0x00000200
#define CR4_XSAVE               0x00040000

#define XCR0                    0

#define XFEATURE_ENABLED_X87    0x00000001
#define XFEATURE_ENABLED_SSE    0x00000002
#define XFEATURE_ENABLED_AVX    0x00000004
#define XFEATURE_ENABLED_PT     0x00000100

#define CPUID2_XSAVE            0x04000000
#define CPUID2_OSXSAVE          0x08000000
#define CPUID_STDEXT_PROCTRACE  0x02000000
#define CPUID_EXTSTATE_XSAVEOPT 0x00000001
#define CPUID_EXTSTATE_XSAVEC   0x00000002
#define CPUID_EXTSTATE_XINUSE   0x00000004
#define CPUID_EXTSTATE_XSAVES   0x00000008

/* CPUID leaf 14h, sub-leaf 0: EBX, then ECX. */
#define CPUPT_CR3        (1 << 0)
#define CPUPT_PSB        (1 << 1)
#define CPUPT_IPF        (1 << 2)
#define CPUPT_MTC        (1 << 3)
#define CPUPT_PRW        (1 << 4)
#define CPUPT_PWR        (1 << 5)
#define CPUPT_DIS_TNT    (1 << 8)
#define CPUPT_TOPA       (1 << 0)
#define CPUPT_TOPA_MULTI (1 << 1)
#define CPUPT_SINGLE     (1 << 2)
#define CPUPT_TT_OUT     (1 << 3)
#define CPUPT_LINEAR_IP  (1u << 31)

/* CPUID leaf 14h, sub-leaf 1: EAX, then EBX. */
#define CPUPT_NADDR_S                   0
#define CPUPT_NADDR_M                   (0x7 << CPUPT_NADDR_S)
#define CPUPT_MTC_BITMAP_S              16
#define CPUPT_MTC_BITMAP_M              (0xffffu << CPUPT_MTC_BITMAP_S)
#define CPUPT_CT_BITMAP_S               0
#define CPUPT_CT_BITMAP_M               (0xffff << CPUPT_CT_BITMAP_S)
#define CPUPT_PFE_BITMAP_S              16
#define CPUPT_PFE_BITMAP_M              (0xffffu << CPUPT_PFE_BITMAP_S)

#define MSR_IA_GLOBAL_STATUS            0x38e
#define MSR_IA_GLOBAL_STATUS_RESET      0x390
#define MSR_IA_GLOBAL_STATUS_SET        0x391
#define GLOBAL_STATUS_FLAG_TRACETOPAPMI (1ULL << 55)

#define MSR_IA32_RTIT_OUTPUT_BASE       0x560
#define MSR_IA32_RTIT_OUTPUT_MASK_PTRS  0x561
#define MSR_IA32_RTIT_CTL               0x570
#define MSR_IA32_RTIT_STATUS            0x571
#define MSR_IA32_RTIT_CR3_MATCH         0x572
#define MSR_IA32_RTIT_ADDR_A(n)         (0x580 + (n)*2)
#define MSR_IA32_RTIT_ADDR_B(n)         (0x581 + (n)*2)
#define MSR_IA32_RTIT_ADDR0_A           0x580
#define MSR_IA32_RTIT_ADDR0_B           0x581
#define MSR_IA32_RTIT_ADDR1_A           0x582
#define MSR_IA32_RTIT_ADDR1_B           0x583
#define MSR_IA32_RTIT_ADDR2_A           0x584
#define MSR_IA32_RTIT_ADDR2_B           0x585
#define MSR_IA32_RTIT_ADDR3_A           0x586
#define MSR_IA32_RTIT_ADDR3_B           0x587
#define MSR_IA32_XSS                    0xda0

#define RTIT_CTL_TRACEEN                (1 << 0)
#define RTIT_CTL_CYCEN                  (1 << 1)
#define RTIT_CTL_OS                     (1 << 2)
#define RTIT_CTL_USER                   (1 << 3)
#define RTIT_CTL_PWREVTEN               (1 << 4)
#define RTIT_CTL_FUPONPTW               (1 << 5)
#define RTIT_CTL_FABRICEN               (1 << 6)
#define RTIT_CTL_CR3FILTER              (1 << 7)
#define RTIT_CTL_TOPA                   (1 << 8)
#define RTIT_CTL_MTCEN                  (1 << 9)
#define RTIT_CTL_TSCEN                  (1 << 10)
#define RTIT_CTL_DISRETC                (1 << 11)
#define RTIT_CTL_PTWEN                  (1 << 12)
#define RTIT_CTL_BRANCHEN               (1 << 13)
#define RTIT_CTL_MTC_FREQ_S             14
#define RTIT_CTL_MTC_FREQ(n)            ((n) << RTIT_CTL_MTC_FREQ_S)
#define RTIT_CTL_MTC_FREQ_M             (0xf << RTIT_CTL_MTC_FREQ_S)
#define RTIT_CTL_CYC_THRESH_S           19
#define RTIT_CTL_CYC_THRESH(n)          ((n) << RTIT_CTL_CYC_THRESH_S)
#define RTIT_CTL_CYC_THRESH_M           (0xf << RTIT_CTL_CYC_THRESH_S)
#define RTIT_CTL_PSB_FREQ_S             24
#define RTIT_CTL_PSB_FREQ(n)            ((n) << RTIT_CTL_PSB_FREQ_S)
#define RTIT_CTL_PSB_FREQ_M             (0xf << RTIT_CTL_PSB_FREQ_S)
#define RTIT_CTL_ADDR_CFG_S(n)          (32 + (n)*4)
#define RTIT_CTL_ADDR_CFG_M(n)          (0xfULL << RTIT_CTL_ADDR_CFG_S(n))
#define RTIT_CTL_ADDR0_CFG_S            RTIT_CTL_ADDR_CFG_S(0)
#define RTIT_CTL_ADDR0_CFG_M            RTIT_CTL_ADDR_CFG_M(0)
#define RTIT_CTL_ADDR1_CFG_S            RTIT_CTL_ADDR_CFG_S(1)
#define RTIT_CTL_ADDR1_CFG_M            RTIT_CTL_ADDR_CFG_M(1)
#define RTIT_CTL_ADDR2_CFG_S            RTIT_CTL_ADDR_CFG_S(2)
#define RTIT_CTL_ADDR2_CFG_M            RTIT_CTL_ADDR_CFG_M(2)
#define RTIT_CTL_ADDR3_CFG_S            RTIT_CTL_ADDR_CFG_S(3)
#define RTIT_CTL_ADDR3_CFG_M            RTIT_CTL_ADDR_CFG_M(3)
#define RTIT_CTL_DIS_TNT                (1ULL << 55)

#define RTIT_STATUS_FILTEREN            (1 << 0)
#define RTIT_STATUS_CONTEXTEN           (1 << 1)
#define RTIT_STATUS_TRIGGEREN           (1 << 2)
#define RTIT_STATUS_ERROR               (1 << 4)
#define RTIT_STATUS_STOPPED             (1 << 5)
#define RTIT_STATUS_PACKETBYTECNT_S     32
#define RTIT_STATUS_PACKETBYTECNT_M     (0x1ffffULL << 32)

/* A ToPA entry: flags, and the size of its region. */
#define TOPA_END       (1 << 0)
#define TOPA_INT       (1 << 2)
#define TOPA_STOP      (1 << 4)
#define TOPA_SIZE_S    6
#define TOPA_SIZE_M    (0xf << TOPA_SIZE_S)
#define TOPA_SIZE_4K   (0 << TOPA_SIZE_S)
#define TOPA_SIZE_8K   (1 << TOPA_SIZE_S)
#define TOPA_SIZE_16K  (2 << TOPA_SIZE_S)
#define TOPA_SIZE_32K  (3 << TOPA_SIZE_S)
#define TOPA_SIZE_64K  (4 << TOPA_SIZE_S)
#define TOPA_SIZE_128K (5 << TOPA_SIZE_S)
#define TOPA_SIZE_256K (6 << TOPA_SIZE_S)
#define TOPA_SIZE_512K (7 << TOPA_SIZE_S)
#define TOPA_SIZE_1M   (8 << TOPA_SIZE_S)
#define TOPA_SIZE_2M   (9 << TOPA_SIZE_S)
#define TOPA_SIZE_4M   (10 << TOPA_SIZE_S)
#define TOPA_SIZE_8M   (11 << TOPA_SIZE_S)
#define TOPA_SIZE_16M  (12 << TOPA_SIZE_S)
#define TOPA_SIZE_32M  (13 << TOPA_SIZE_S)
#define TOPA_SIZE_64M  (14 << TOPA_SIZE_S)
#define TOPA_SIZE_128M (15 << TOPA_SIZE_S)

#endif
